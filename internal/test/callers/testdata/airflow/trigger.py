"""What becomes of a deferred task without the process that deferred it.

    trigger.py wait KWARGS HOST     a triggerer on another HOST, which has of the trigger what the database keeps
    trigger.py defer KWARGS         the only task instance waits for the trigger
    trigger.py state [STATE]        its state, or another one, as a user marks it
"""

import asyncio
import json
import socket
import sys

from airflow.models import TaskInstance
from airflow.models.trigger import Trigger
from airflow.utils.session import create_session
from airflow_provider_bulkload.triggers import BulkloadTrigger


async def wait(kwargs, host):
    socket.gethostname = lambda: host
    path, kwargs = BulkloadTrigger(**json.loads(kwargs)).serialize()
    assert path == "airflow_provider_bulkload.triggers.BulkloadTrigger", path
    async for event in BulkloadTrigger(**kwargs).run():
        print("event: " + json.dumps(event.payload))


def defer(kwargs):
    path, kwargs = BulkloadTrigger(**json.loads(kwargs)).serialize()
    with create_session() as session:
        row = Trigger(classpath=path, kwargs=kwargs)
        session.add(row)
        session.flush()
        ti = session.query(TaskInstance).one()
        ti.state, ti.trigger_id, ti.next_method, ti.next_kwargs = "deferred", row.id, "resume", {}


def state(new=None):
    with create_session() as session:
        ti = session.query(TaskInstance).one()
        ti.state = new or ti.state
        print(f"state: {ti.state}")


command, *rest = sys.argv[1:]
if command == "wait":
    asyncio.run(wait(*rest))
else:
    {"defer": defer, "state": state}[command](*rest)
