"""Every operator and the sensor, by a connection: a load, an export, a replacement, other keys, a comparison; a load that is taken back."""

import os
from datetime import timedelta

import pendulum
from airflow_provider_bulkload.operators import (
    BulkloadCompareOperator,
    BulkloadExportOperator,
    BulkloadRekeyOperator,
    BulkloadReplaceOperator,
    BulkloadRunOperator,
    BulkloadUndoOperator,
)
from airflow_provider_bulkload.sensors import BulkloadJobSensor

try:
    from airflow.sdk import DAG
except ImportError:
    from airflow import DAG

JOBS, EXPORTS, TABLES = (os.environ["NIGHTLY_" + name] for name in ("JOBS", "EXPORTS", "TABLES"))
EXPORT = EXPORTS + "/exported"

with DAG("tables", schedule=None, start_date=pendulum.datetime(2026, 11, 1),
         default_args={"bulkload_conn_id": "site", "poll_seconds": 0.2}) as dag:
    load = BulkloadRunOperator(
        task_id="load", job=f"{JOBS}/check.yaml", inputs=EXPORTS + "/check/{{ ds_nodash }}", table=f"{TABLES}check", job_id="{{ ds }}")
    wait = BulkloadJobSensor(
        task_id="wait", table=f"{TABLES}check", job_id="{{ ds }}", after="{{ dag_run.start_date }}", poke_interval=1, timeout=60)
    export = BulkloadExportOperator(task_id="export", table=f"{TABLES}check", to=EXPORT, format="dump", job=f"{JOBS}/check.yaml")
    replace = BulkloadReplaceOperator(
        task_id="replace", job=f"{JOBS}/check.yaml", inputs=[EXPORT + "/part-*"], table=f"{TABLES}check", max_deletes=0)
    rekey = BulkloadRekeyOperator(
        task_id="rekey", source=f"{TABLES}check", target=f"{TABLES}check2", key="md5hex(check_id) + $row", cluster="main")
    compare = BulkloadCompareOperator(
        task_id="compare", a=f"{TABLES}check", b=f"{TABLES}check2", new_key="md5hex(check_id) + $row")
    load >> wait >> export >> replace >> rekey >> compare

    first = BulkloadRunOperator(
        task_id="first", job=f"{JOBS}/opinion.yaml", inputs=EXPORTS + "/opinion/{{ ds_nodash }}", table=f"{TABLES}opinion")
    look = BulkloadUndoOperator(task_id="look", job="{{ ti.xcom_pull('first')['job'] }}", dry_run=True)
    undo = BulkloadUndoOperator(task_id="undo", job="{{ ti.xcom_pull('first')['job'] }}")
    undone = BulkloadJobSensor(
        task_id="undone", table=f"{TABLES}opinion", poke_interval=timedelta(seconds=1), timeout=2, soft_fail=True, mode="reschedule")
    first >> look >> undo >> undone
