"""Runs a DAG once by dag.test() and prints what came of it: one JSON object, behind "ran: " on a line of standard output.

    run_dag.py FILE DATE [CONF]

FILE is the DAG's file, DATE the logical date, CONF the configuration of the run as JSON.
"""

import importlib.util
import json
import os
import sys

import airflow
import pendulum
from airflow import settings

THREE = airflow.__version__.startswith("3")
if THREE:
    from airflow.models.asset import AssetEvent, AssetModel
    from airflow.models.xcom import XComModel as XCom
    from airflow.serialization.serialized_objects import DagSerialization as SerializedDAG
else:
    import airflow.providers.fab.auth_manager.models  # noqa: F401  tables that those of runs refer to
    from airflow.models.dataset import DatasetEvent as AssetEvent
    from airflow.models.dataset import DatasetModel as AssetModel
    from airflow.models.xcom import XCom
    from airflow.serialization.serialized_objects import SerializedDAG


def word(state):
    return getattr(state, "value", state)


def main(file, date, conf="{}"):
    sys.path.insert(0, os.path.dirname(file))  # as Airflow does for the folder of DAGs
    spec = importlib.util.spec_from_file_location(os.path.basename(file)[:-3], file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not THREE:
        module.dag.sync_to_db()  # as the scheduler does: events are of datasets that the database knows
    # Runs of a date have one id, as tries of a run have.
    when = {name: pendulum.parse(date) for name in (("logical_date", "run_after") if THREE else ("execution_date",))}
    start = pendulum.now("UTC")
    run = module.dag.test(**when, run_conf=json.loads(conf))
    session = settings.Session()
    run = session.merge(run)
    tasks = {}
    # As the page of a task knows the DAG: links are those of operators that Airflow knows.
    served = SerializedDAG.from_dict(SerializedDAG.to_dict(module.dag))
    for ti in run.get_task_instances(session=session):
        row = session.query(XCom).filter_by(
            dag_id=ti.dag_id, run_id=ti.run_id, task_id=ti.task_id, key="return_value").first()
        value = row.value if row else None
        if isinstance(value, (str, bytes)):
            value = json.loads(value)
        task = served.get_task(ti.task_id)
        link = task.get_extra_links(ti, "bulkload report") if "bulkload report" in task.extra_links else None
        tasks[ti.task_id] = {"state": word(ti.state), "try": ti.try_number, "xcom": value, "link": link or ""}
    uris = {asset.id: asset.uri for asset in session.query(AssetModel)}
    events = session.query(AssetEvent).filter(AssetEvent.timestamp >= start)  # an earlier run may have the same id
    assets = sorted(uris[e.asset_id if THREE else e.dataset_id] for e in events)
    print("\nran: " + json.dumps({"state": word(run.state), "tasks": tasks, "assets": assets}))


main(*sys.argv[1:])
