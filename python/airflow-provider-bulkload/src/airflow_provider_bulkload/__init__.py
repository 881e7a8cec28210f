"""An Airflow provider for bulkload: operators, a trigger, a sensor, a connection type and a link to reports."""

from __future__ import annotations

from typing import Any

# The fields of a connection in addition to the login, which is the Kerberos principal: name, label and meaning.
CONNECTION_FIELDS = {
    "program": ("Program", "a path, or a name on the PATH of workers and triggerers; bulkload by default"),
    "hadoop_conf_dir": ("Hadoop configuration", "HADOOP_CONF_DIR on the workers"),
    "hbase_conf_dir": ("HBase configuration", "HBASE_CONF_DIR on the workers"),
    "keytab": ("Keytab", "the principal's keytab, a file on the workers"),
    "state": ("State", "where jobs have their state: hbase:TABLE, or a directory"),
    "report_url": ("Address of reports", "where reports are served: {job} is the job's directory, {path} its report"),
    "work_dir": ("Working directory", "for the output of running programs; AIRFLOW_HOME/bulkload by default"),
    "env": ("Environment", 'further variables, a JSON object such as {"KRB5_CONFIG": "/etc/krb5.conf"}'),
}
FORM = {
    "hidden_fields": ["host", "port", "schema", "password"],
    "relabeling": {"login": "Kerberos principal"},
    "placeholders": {"login": "etl@EXAMPLE.COM"},
}


def get_provider_info() -> dict[str, Any]:
    """What Airflow asks every provider for, by the entry point apache_airflow_provider."""
    package, integration = __name__, "bulkload"
    return {
        "package-name": "airflow-provider-bulkload",
        "name": integration,
        "description": "Bulk loads of HBase tables by the program bulkload.",
        "integrations": [{"integration-name": integration, "tags": ["software"]}],
        "operators": [{"integration-name": integration, "python-modules": [f"{package}.operators"]}],
        "sensors": [{"integration-name": integration, "python-modules": [f"{package}.sensors"]}],
        "hooks": [{"integration-name": integration, "python-modules": [f"{package}.hook"]}],
        "triggers": [{"integration-name": integration, "python-modules": [f"{package}.triggers"]}],
        "extra-links": [f"{package}.links.BulkloadReportLink"],
        "connection-types": [
            {
                "connection-type": "bulkload",
                "hook-class-name": f"{package}.hook.BulkloadHook",
                "hook-name": "bulkload",
                "conn-fields": {  # for Airflow 3.2 and later, which does not import hooks for its forms
                    name: {"label": label, "description": meaning, "schema": {"type": ["string", "null"]}}
                    for name, (label, meaning) in CONNECTION_FIELDS.items()
                },
                "ui-field-behaviour": {key.replace("_", "-"): value for key, value in FORM.items()},
            }
        ],
    }
