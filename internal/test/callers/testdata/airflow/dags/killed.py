"""A load that somebody kills."""

import os

import pendulum
from airflow_provider_bulkload.operators import BulkloadRunOperator

try:
    from airflow.sdk import DAG
except ImportError:
    from airflow import DAG

with DAG("killed", schedule=None, start_date=pendulum.datetime(2026, 11, 1)) as dag:
    BulkloadRunOperator(
        task_id="load_check",
        job=os.environ["NIGHTLY_JOBS"] + "/check.yaml",
        inputs=[os.environ["NIGHTLY_EXPORTS"] + "/check/{{ ds_nodash }}"],
        table=os.environ["NIGHTLY_TABLES"] + "check",
        state=os.environ["NIGHTLY_STATE"],
        job_id="{{ ds }}",
        args=["--verify=full", "--workers=1"],
        retries=0,
    )
