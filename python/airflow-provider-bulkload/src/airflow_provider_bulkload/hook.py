"""The connection type: which program runs, with which configuration and login."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from airflow_provider_bulkload import CONNECTION_FIELDS, FORM
from airflow_provider_bulkload.compat import AirflowException, BaseHook

ASK_SECONDS = 120  # for questions such as status, which end by themselves


class BulkloadHook(BaseHook):
    """Starts and asks the program as a connection says; without a connection as the worker's environment says.

    :param bulkload_conn_id: the connection, of type bulkload.
    :param program: instead of the connection's.
    """

    conn_name_attr = "bulkload_conn_id"
    default_conn_name = "bulkload_default"
    conn_type = "bulkload"
    hook_name = "bulkload"

    def __init__(self, bulkload_conn_id: str | None = None, program: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        connection = self.get_connection(bulkload_conn_id) if bulkload_conn_id else None
        self.fields: dict[str, Any] = connection.extra_dejson if connection else {}
        self.login: str = (connection.login if connection else None) or ""
        self.program: str = program or self.fields.get("program") or "bulkload"

    @classmethod
    def get_connection_form_widgets(cls) -> dict[str, Any]:
        """The fields of the form, for versions of Airflow that do not read them from the provider's description."""
        from flask_appbuilder.fieldwidgets import BS3TextFieldWidget
        from wtforms import StringField

        return {name: StringField(label, description=meaning, widget=BS3TextFieldWidget())
                for name, (label, meaning) in CONNECTION_FIELDS.items()}

    @classmethod
    def get_ui_field_behaviour(cls) -> dict[str, Any]:
        return FORM

    @property
    def env(self) -> dict[str, str]:
        """What the connection adds to the program's environment."""
        extra = self.fields.get("env") or {}
        try:
            extra = dict(json.loads(extra) if isinstance(extra, str) else extra)
        except (ValueError, TypeError) as error:
            raise AirflowException(f"the connection's env is not a JSON object: {error}") from error
        given = {
            "HADOOP_CONF_DIR": self.fields.get("hadoop_conf_dir"),
            "HBASE_CONF_DIR": self.fields.get("hbase_conf_dir"),
            "BULKLOAD_PRINCIPAL": self.login,
            "BULKLOAD_KEYTAB": self.fields.get("keytab"),
            "BULKLOAD_STATE": self.fields.get("state"),
        }
        return {**{k: v for k, v in given.items() if v}, **{k: str(v) for k, v in extra.items()}}

    @property
    def work_dir(self) -> Path:
        """Where running programs have their output."""
        home = os.environ.get("AIRFLOW_HOME") or "~/airflow"
        return Path(self.fields.get("work_dir") or os.path.join(home, "bulkload")).expanduser().absolute()

    def report_link(self, result: dict[str, Any]) -> str:
        """The address of a result's report, or the file on its host."""
        path = str(result.get("report") or "")
        address = self.fields.get("report_url")
        if not path or not address:
            return path and f"file://{result.get('host', '')}{path}"
        return address.replace("{job}", os.path.basename(result.get("job") or "")).replace("{path}", path)

    def ask(self, *args: str) -> tuple[int, dict[str, Any]]:
        """The exit code and the answer of a command that only looks."""
        return ask(self.program, {**os.environ, **self.env}, *args)

    def test_connection(self) -> tuple[bool, str]:
        """Runs the program where Airflow serves its pages; with a table of states it asks the cluster too."""
        commands = [["version"]]
        if str(self.fields.get("state") or "").startswith("hbase:"):
            commands.append(["status"])
        found = ""
        try:
            for command in commands:
                code, answer = self.ask(*command)
                if code:
                    return False, str(answer.get("error") or f"{command[0]} ended with exit code {code}")
                found = found or f"bulkload {answer.get('version')}"
        except (AirflowException, OSError, subprocess.SubprocessError) as error:
            return False, str(error)
        return True, found


def ask(program: str, env: dict[str, str], *args: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the answer of a command that only looks."""
    done = subprocess.run([program, *args, "--output=json", "--quiet"], env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, encoding="utf-8", errors="replace", timeout=ASK_SECONDS, check=False)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {"error": done.stderr.strip()[-400:]}
    return done.returncode, answer
