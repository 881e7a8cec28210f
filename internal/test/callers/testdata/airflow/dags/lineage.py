"""A load whose lineage goes to OpenLineage, by the task's event or by the program's."""

import os

import pendulum
from airflow_provider_bulkload.operators import BulkloadRunOperator

try:
    from airflow.sdk import DAG
except ImportError:
    from airflow import DAG

MODE = os.environ.get("LINEAGE", "task")

with DAG("lineage", schedule=None, start_date=pendulum.datetime(2026, 11, 1)) as dag:
    BulkloadRunOperator(
        task_id="load_check",
        job=os.environ["NIGHTLY_JOBS"] + "/check.yaml",
        inputs=[os.environ["NIGHTLY_EXPORTS"] + "/check/20261120"],
        table=os.environ["NIGHTLY_TABLES"] + "check",
        job_id=MODE,
        openlineage=MODE,
        args=["--verify=off"],
    )
