"""The link from a task to the report of its run."""

from __future__ import annotations

from typing import Any

from airflow_provider_bulkload.compat import THREE, BaseOperatorLink

REPORT_KEY = "bulkload_report"


class BulkloadReportLink(BaseOperatorLink):
    """The report that the task's program wrote: an address if the connection says where reports are served."""

    name = "bulkload report"
    xcom_key = REPORT_KEY  # into which Airflow 3 puts the link when the task ends, and where its pages find it

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        if THREE:
            return operator.report
        from airflow.models.xcom import XCom

        return XCom.get_value(key=REPORT_KEY, ti_key=ti_key) or ""
