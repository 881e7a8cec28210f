"""Every way in which the program can end."""

import os
from datetime import timedelta

import pendulum
from airflow_provider_bulkload.operators import BulkloadRunOperator

try:
    from airflow.sdk import DAG
except ImportError:
    from airflow import DAG

with DAG("codes", schedule=None, start_date=pendulum.datetime(2026, 11, 1),
         default_args={"retries": 1, "retry_delay": timedelta(0)}) as dag:
    for ends in "0 1 2 3 4 5 6 7 8 75 99 130 143 kill silent".split():
        BulkloadRunOperator(task_id=f"ends_{ends}", job="none.yaml", program=os.environ["ENDS_PROGRAM"], env={"ENDS": ends},
                         table="t" if ends in ("0", "99") else None)
    # An earlier try has done it, and Airflow has not heard of it.
    BulkloadRunOperator(task_id="ends_75_then_99", job="none.yaml", program=os.environ["ENDS_PROGRAM"],
                     env={"ENDS": "{{ 75 if ti.try_number == 1 else 99 }}"})
    BulkloadRunOperator(task_id="no_program", job="none.yaml", program="/nowhere/bulkload", retries=0)
    # The real program, of failures that a retry cannot fix.
    BulkloadRunOperator(task_id="no_job_file", job="/nowhere/check.yaml")
    BulkloadRunOperator(task_id="no_input", job=os.environ["NIGHTLY_JOBS"] + "/check.yaml", inputs="/nowhere/check",
                     table=os.environ["NIGHTLY_TABLES"] + "check", state=os.environ["NIGHTLY_STATE"])
