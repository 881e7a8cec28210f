"""Reads OpenLineage events, one a line, from standard input as openlineage-python understands them.

Each event is built from the client's own classes, which refuse what they do not know, and written by the client's own
serializer again: what comes out must be what went in. With a directory of the specification (its folder spec/) as the
argument, each event and each facet is also held to the JSON schemas there.
"""
import glob
import importlib
import json
import os
import pkgutil
import sys
import typing

import attr
from openlineage.client import event_v2, facet_v2, generated
from openlineage.client.serde import Serde

for m in pkgutil.iter_modules(generated.__path__):
    importlib.import_module(f"openlineage.client.generated.{m.name}")

FACETS = {
    "processing_engine": "processing_engine_run.ProcessingEngineRunFacet",
    "nominalTime": "nominal_time_run.NominalTimeRunFacet",
    "parent": "parent_run.ParentRunFacet",
    "errorMessage": "error_message_run.ErrorMessageRunFacet",
    "jobType": "job_type_job.JobTypeJobFacet",
    "documentation": "documentation_job.DocumentationJobFacet",
    "schema": "schema_dataset.SchemaDatasetFacet",
    "dataQualityAssertions": "data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet",
    "inputStatistics": "input_statistics_input_dataset.InputStatisticsInputDatasetFacet",
    "outputStatistics": "output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet",
}


def facet_class(name):
    module, cls = FACETS[name].split(".")
    return getattr(importlib.import_module(f"openlineage.client.generated.{module}"), cls)


def build(cls, value):
    """Makes an object of an attrs class from JSON, with all that is below it."""
    args, hints = {}, typing.get_type_hints(cls)
    known = {a.name: a for a in attr.fields(cls)}
    for name, v in value.items():
        if name == "_producer":
            args["producer"] = v
            continue
        if name == "_schemaURL":
            want = cls._get_schema()
            if v != want:
                raise ValueError(f"{cls.__name__} has the schema {v}, the client's is {want}")
            continue
        if name not in known:
            raise ValueError(f"{cls.__name__} has no field {name}")
        args[name] = convert(hints[name], v)
    made = cls(**args)
    return made


def convert(hint, v):
    options = [hint, *typing.get_args(hint)]
    for o in options:
        if isinstance(v, dict) and attr.has(o):
            return build(o, v)
        if isinstance(v, list):
            for inner in typing.get_args(o):
                if attr.has(inner):
                    return [build(inner, x) for x in v]
    return v


def facets(all):
    return {name: build(facet_class(name), f) for name, f in all.items()}


def dataset(cls, d):
    args = dict(d, facets=facets(d["facets"]))
    for kind in ("inputFacets", "outputFacets"):
        if kind in d:
            args[kind] = facets(d[kind])
    return cls(**args)


def event(e):
    return event_v2.RunEvent(
        eventType=event_v2.RunState[e["eventType"]], eventTime=e["eventTime"], producer=e["producer"],
        run=event_v2.Run(e["run"]["runId"], facets(e["run"]["facets"])),
        job=event_v2.Job(e["job"]["namespace"], e["job"]["name"], facets(e["job"]["facets"])),
        inputs=[dataset(event_v2.InputDataset, d) for d in e["inputs"]],
        outputs=[dataset(event_v2.OutputDataset, d) for d in e["outputs"]],
    )


def plain(v):
    """Leaves out what is empty, and the base class's own fields of a facet."""
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items() if x not in (None, {}, []) and k != "_deleted" and plain(x) != {}}
    if isinstance(v, list):
        return [plain(x) for x in v]
    return v


class Schemas:
    def __init__(self, spec):
        import jsonschema
        from referencing import Registry, Resource

        resources, self.by_name = [], {}
        for name in [f"{spec}/OpenLineage.json", *glob.glob(f"{spec}/facets/*.json")]:
            with open(name) as f:
                s = json.load(f)
            resources.append((s["$id"], Resource.from_contents(s)))
            self.by_name[os.path.basename(name)] = s["$id"]
        self.registry = Registry().with_resources(resources)
        self.jsonschema = jsonschema

    def check(self, value, ref):
        v = self.jsonschema.Draft202012Validator({"$ref": ref}, registry=self.registry, format_checker=self.jsonschema.FormatChecker())
        errors = [f"{e.json_path}: {e.message}" for e in v.iter_errors(value)]
        if errors:
            raise ValueError(f"{ref}: {errors}")

    def event(self, e):
        self.check(e, self.by_name["OpenLineage.json"] + "#/$defs/RunEvent")
        self.facets(e)

    def facets(self, v):
        for x in v.values() if isinstance(v, dict) else v if isinstance(v, list) else []:
            if isinstance(x, dict) and "_schemaURL" in x:
                file, pointer = x["_schemaURL"].rsplit("/facets/", 1)[1].split("/", 1)[1].split("#")
                self.check(x, self.by_name[file] + "#" + pointer)
            self.facets(x)


def main():
    schemas = Schemas(sys.argv[1]) if len(sys.argv) > 1 else None
    n = 0
    for line in sys.stdin:
        want = json.loads(line)
        got = json.loads(Serde.to_json(event(want)))
        if plain(got) != plain(want):
            raise ValueError(f"the client writes\n{json.dumps(plain(got))}\ninstead of\n{json.dumps(plain(want))}")
        if schemas:
            schemas.event(want)
        n += 1
    print(f"{n} events, {'schemas and ' if schemas else ''}client agree")


main()
