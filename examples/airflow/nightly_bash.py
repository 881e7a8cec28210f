"""The nightly loads of check and opinion with BashOperator: nothing to install but the program.

Every failure is retried, also those that a retry cannot fix; nightly_operator.py distinguishes them.
"""

from __future__ import annotations

import json
import os
from datetime import timedelta

import pendulum

try:  # Airflow 3, and Airflow 2 with the provider "standard"
    from airflow.providers.standard.operators.bash import BashOperator
except ImportError:  # Airflow 2
    from airflow.operators.bash import BashOperator
try:  # Airflow 3
    from airflow.sdk import DAG
except ImportError:  # Airflow 2
    from airflow import DAG

# Where things are. A worker may have them elsewhere: its environment says so.
JOBS = os.environ.get("NIGHTLY_JOBS", "/etc/bulkload")
EXPORTS = os.environ.get("NIGHTLY_EXPORTS", "hdfs:///user/tina")
TABLES = os.environ.get("NIGHTLY_TABLES", "")  # a namespace with its colon
STATE = os.environ.get("NIGHTLY_STATE", "hbase:bulkload_state")

# The day before the run, in the DAG's time zone. {{ ds }} is that day in Airflow 2 and the run's own in Airflow 3.
DAY = "{{ data_interval_end.in_timezone('Asia/Shanghai').subtract(days=1).strftime('%Y%m%d') }}"

with DAG(
    dag_id="bulkload_nightly_bash",
    schedule="30 2 * * *",
    start_date=pendulum.datetime(2026, 11, 1, tz="Asia/Shanghai"),
    catchup=True,  # a night that was missed is loaded later, the oldest first
    max_active_runs=1,  # one night after the other
    max_active_tasks=1,  # one load at a time: each uses all cores and its whole --memory
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5), "execution_timeout": timedelta(hours=4)},
    tags=["bulkload"],
) as dag:
    for table in ("check", "opinion"):
        BashOperator(
            task_id=f"load_{table}",
            # exec: the program is the task's process, and gets its signals. The space at the end keeps Airflow from
            # taking a line that ends in .sh or .bash for the name of a file.
            bash_command=f"exec bulkload run --output json --skip-exit-code --job {JOBS}/{table}.yaml --state {STATE} "
            f"--table {TABLES}{table} --input {EXPORTS}/{table}/{DAY} --date {DAY} ",
            env={"BULKLOAD_LOG_FORMAT": "text"},
            append_env=True,  # HADOOP_CONF_DIR, HBASE_CONF_DIR and PATH are the worker's
            skip_on_exit_code=99,  # done by an earlier run
            output_processor=json.loads,  # the last line, the result, becomes the XCom
        )
