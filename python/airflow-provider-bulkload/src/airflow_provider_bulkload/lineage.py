"""OpenLineage: the datasets of the program's own events become those of the task."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from airflow_provider_bulkload.process import last_line

log = logging.getLogger(__name__)


def parent(task_instance: Any) -> dict[str, str]:
    """The variables that name the task's run, and the DAG's above it, as the parents of the program's run.

    They are empty where Airflow's provider for OpenLineage is not installed, or is switched off.
    """
    try:
        from airflow.providers.openlineage import conf
        from airflow.providers.openlineage.plugins import macros
    except ImportError:
        return {}
    if conf.is_disabled():
        return {}
    named = {"OPENLINEAGE_PARENT_ID": "lineage_parent_id", "OPENLINEAGE_ROOT_PARENT_ID": "lineage_root_parent_id"}
    found = {}
    for variable, macro in named.items():
        try:
            found[variable] = getattr(macros, macro)(task_instance)
        except Exception as error:  # a load does not fail for its lineage
            log.warning("no %s for OpenLineage: %s", variable, error)
    return found


def final_event(file: Path) -> dict[str, Any]:
    """The last event of a file that the program has written; empty if there is none."""
    try:
        return json.loads(last_line(file))
    except (OSError, ValueError):
        return {}


def operator_lineage(event: dict[str, Any]) -> Any:
    """The program's event in the form that Airflow's provider asks operators for."""
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import InputDataset, OutputDataset

    def all_of(kind: Any, key: str, facets: str) -> list[Any]:
        return [kind(namespace=d["namespace"], name=d["name"], facets=d.get("facets") or {}, **{facets: d.get(facets) or {}})
                for d in event.get(key, [])]

    return OperatorLineage(
        inputs=all_of(InputDataset, "inputs", "inputFacets"), outputs=all_of(OutputDataset, "outputs", "outputFacets"))
