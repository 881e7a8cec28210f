"""One load by several workers: a plan, mapped shares, mapped merges, and the load.

All workers see WORK, a directory on HDFS or on a file system that they share. docs/scale.md says what each step relies on.
"""

from __future__ import annotations

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

JOBS = os.environ.get("NIGHTLY_JOBS", "/etc/bulkload")
EXPORTS = os.environ.get("NIGHTLY_EXPORTS", "hdfs:///user/tina")
TABLES = os.environ.get("NIGHTLY_TABLES", "")  # a namespace with its colon
WORK = os.environ.get("NIGHTLY_WORK", "hdfs:///tmp/bulkload-shares")

SHARES = 7  # tasks that read; each takes all cores of its worker and its whole --memory
MERGES = 2  # tasks that write

# The day before the run, in the DAG's time zone.
DAY = "{{ data_interval_end.in_timezone('Asia/Shanghai').subtract(days=1).strftime('%Y%m%d') }}"
NIGHT = f"{WORK}/check-{DAY}"

with DAG(
    dag_id="bulkload_shares",
    schedule="30 2 * * *",
    start_date=pendulum.datetime(2026, 11, 1, tz="Asia/Shanghai"),
    catchup=False,
    max_active_runs=1,
    # A retry is the same command: what an attempt before has left half done counts for nothing.
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5), "execution_timeout": timedelta(hours=4)},
    tags=["bulkload"],
) as dag:
    # The space at the end of a command keeps Airflow from taking a line that ends in .sh for the name of a file.
    plan = BashOperator(
        task_id="plan",
        bash_command=f"exec bulkload plan --quiet --job {JOBS}/check.yaml --table {TABLES}check --input {EXPORTS}/check/{DAY} --out {NIGHT}.plan ",
        append_env=True,
    )
    shares = BashOperator.partial(task_id="share", append_env=True).expand(
        bash_command=[f"exec bulkload build --quiet --plan {NIGHT}.plan --share {k}/{SHARES} --out {NIGHT}.rows " for k in range(1, SHARES + 1)]
    )
    merges = BashOperator.partial(task_id="merge", append_env=True).expand(
        bash_command=[
            f"exec bulkload merge --quiet --plan {NIGHT}.plan --shares {NIGHT}.rows --out {NIGHT}.hfiles --share {k}/{MERGES} " for k in range(1, MERGES + 1)
        ]
    )
    load = BashOperator(
        task_id="load",
        # Only this one depends on what an attempt before has done: give it no retry, and look at its message first.
        bash_command=f"exec bulkload load --quiet --table {TABLES}check {NIGHT}.hfiles ",
        append_env=True,
        retries=0,
    )
    plan >> shares >> merges >> load
