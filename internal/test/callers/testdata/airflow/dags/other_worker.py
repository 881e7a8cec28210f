"""A load whose first try is killed while it sends files, and whose second try is on another worker: it has none of the first one's files."""

import os
from datetime import timedelta

import pendulum
from airflow_provider_bulkload.operators import BulkloadRunOperator

try:
    from airflow.sdk import DAG
except ImportError:
    from airflow import DAG

WORKER = os.environ["AIRFLOW_HOME"] + "/worker-{{ ti.try_number }}"

with DAG("other_worker", schedule=None, start_date=pendulum.datetime(2026, 11, 1)) as dag:
    BulkloadRunOperator(
        task_id="load_check",
        job=os.environ["NIGHTLY_JOBS"] + "/check.yaml",
        inputs=[os.environ["NIGHTLY_EXPORTS"] + "/check/{{ ds_nodash }}"],
        table=os.environ["NIGHTLY_TABLES"] + "check",
        state=os.environ["NIGHTLY_STATE"],
        job_id="{{ ds }}",
        args=["--verify=full", "--spill-dir=" + os.environ["AIRFLOW_HOME"]],
        env={"BULKLOAD_TEST_STOP_AFTER": "{{ 'sending' if ti.try_number == 1 else '' }}", "XDG_CACHE_HOME": WORKER},
        retries=1,
        retry_delay=timedelta(0),
    )
