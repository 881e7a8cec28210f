"""A load that is over its time limit."""

import os
from datetime import timedelta

import pendulum
from airflow_provider_bulkload.operators import BulkloadRunOperator

try:
    from airflow.sdk import DAG
except ImportError:
    from airflow import DAG

with DAG("slow", schedule=None, start_date=pendulum.datetime(2026, 11, 1)) as dag:
    BulkloadRunOperator(task_id="load", job="none.yaml", program=os.environ["ENDS_PROGRAM"], env={"ENDS": "term"},
                     execution_timeout=timedelta(seconds=15), retries=0)
