"""The nightly loads of check and opinion with the provider's BulkloadRunOperator."""

from __future__ import annotations

import os
from datetime import timedelta

import pendulum
from airflow_provider_bulkload.operators import BulkloadRunOperator

try:  # Airflow 3
    from airflow.sdk import DAG, Param
except ImportError:  # Airflow 2
    from airflow import DAG
    from airflow.models.param import Param


# Where things are. A worker may have them elsewhere: its environment says so.
JOBS = os.environ.get("NIGHTLY_JOBS", "/etc/bulkload")
EXPORTS = os.environ.get("NIGHTLY_EXPORTS", "hdfs:///user/tina")
TABLES = os.environ.get("NIGHTLY_TABLES", "")  # a namespace with its colon
STATE = os.environ.get("NIGHTLY_STATE", "hbase:bulkload_state")

# The day before the run, in the DAG's time zone, unless who triggers the run names another. {{ ds }} is the day
# before in Airflow 2 and the run's own in Airflow 3.
DAY = "{{ params.day or data_interval_end.in_timezone('Asia/Shanghai').subtract(days=1).strftime('%Y%m%d') }}"

with DAG(
    dag_id="bulkload_nightly",
    schedule="30 2 * * *",
    start_date=pendulum.datetime(2026, 11, 1, tz="Asia/Shanghai"),
    catchup=True,  # a night that was missed is loaded later, the oldest first
    max_active_runs=1,  # one night after the other
    max_active_tasks=1,  # one load at a time: each uses all cores and its whole --memory
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5), "execution_timeout": timedelta(hours=4)},
    params={
        "day": Param("", type="string", pattern="^([0-9]{8})?$", description="the export's day, such as 20260930"),
        # Clearing a task that succeeded does not load again: the job is done. Another delivery is another job.
        "delivery": Param("", type="string", description="anything new, to load a day again that was delivered again"),
    },
    tags=["bulkload"],
) as dag:
    for table in ("check", "opinion"):
        BulkloadRunOperator(
            task_id=f"load_{table}",
            job=f"{JOBS}/{table}.yaml",
            inputs=[f"{EXPORTS}/{table}/{DAY}"],
            date=DAY,  # for {{ .Date }} in the job file, which is not Airflow's to fill in
            job_id="{{ params.delivery }}",
            table=f"{TABLES}{table}",
            state=STATE,
            args=["--verify=sample"],
        )
