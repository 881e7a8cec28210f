"""A load whose first try is killed in the middle of its build, by a SIGKILL."""

import os
from datetime import timedelta

import pendulum
from airflow_provider_bulkload.operators import BulkloadRunOperator

try:
    from airflow.sdk import DAG
except ImportError:
    from airflow import DAG

with DAG("resume", schedule=None, start_date=pendulum.datetime(2026, 11, 1)) as dag:
    BulkloadRunOperator(
        task_id="load_check",
        job=os.environ["NIGHTLY_JOBS"] + "/check.yaml",
        inputs=[os.environ["NIGHTLY_EXPORTS"] + "/check/{{ ds_nodash }}"],
        table=os.environ["NIGHTLY_TABLES"] + "check",
        state=os.environ["NIGHTLY_STATE"],
        job_id="{{ ds }}",
        args=["--verify=full", "--workers=1"],
        env={"BULKLOAD_TEST_STOP_AFTER": "{{ 'written:6' if ti.try_number == 1 else '' }}"},
        retries=1,
        retry_delay=timedelta(0),
    )
