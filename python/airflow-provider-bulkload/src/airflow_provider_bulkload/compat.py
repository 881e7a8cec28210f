"""What Airflow 2 and 3 have under different names."""
# ruff: noqa: F401

from __future__ import annotations

try:  # Airflow 3
    from airflow.sdk import Asset, BaseHook, BaseOperator, BaseOperatorLink, BaseSensorOperator, PokeReturnValue

    THREE = True
except ImportError:  # Airflow 2
    from airflow.datasets import Dataset as Asset
    from airflow.hooks.base import BaseHook
    from airflow.models.baseoperator import BaseOperator
    from airflow.models.baseoperatorlink import BaseOperatorLink
    from airflow.sensors.base import BaseSensorOperator, PokeReturnValue

    THREE = False
try:  # Airflow 3.1 and later
    from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException, AirflowTaskTimeout
except ImportError:
    from airflow.exceptions import AirflowException, AirflowFailException, AirflowSkipException, AirflowTaskTimeout
