"""The report on one session (`chock.eval-report` version 1): findings, each with an owner, and what they amount to."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field, JsonValue, ValidationError

from pipeline.errors import InputError
from pipeline.formats.strict_json import parse_json
from pipeline.records.base import Document, Record
from pipeline.records.digest import Sha256, digest_bytes
from pipeline.records.names import nearest
from pipeline.records.owners import Owner
from pipeline.records.provenance import Provenance

Category = Literal[
    Owner.MODEL,
    Owner.HARNESS,
    Owner.SANDBOX,
    Owner.FIXTURE,
    Owner.POLICY,
    Owner.NETWORK,
    Owner.BUDGET,
    Owner.TEST,
]
"""Who owns a finding: the owners that a session can have."""

Component = Literal["model", "harness", "sandbox", "fixture", "policy", "network", "budget", "tests"]
"""How categories are spelt as reward components and weights: `tests` is the category `test`."""

FaultOwner = Literal[Owner.HARNESS, Owner.SANDBOX, Owner.FIXTURE]

Fraction = Annotated[float, Field(ge=0, le=1)]


class Finding(Record):
    """The outcome of one check."""

    name: str
    """What was checked, such as `session.end_reason` or `test:unit`."""
    category: Category
    passed: bool
    expected: JsonValue
    actual: JsonValue
    """null: there is no evidence."""
    detail: str
    """For a person; empty where expected and actual say it all."""


class Producer(Record):
    """The program that wrote a report."""

    name: str
    version: str


class Report(Document):
    """What one session showed."""

    schema_name: ClassVar[str] = "chock.eval-report"
    is_bound: ClassVar[bool] = True  # the format has no member for it; who keeps a report names the digest of its file

    name: str
    """Of the spec."""
    session: str | None
    """null: the log names none."""
    spec_sha256: Sha256
    """Of the bytes of the spec's file."""
    base_commit: str | None
    """The full object id from which the session began; null: unknown, or a fixture without git."""
    config_sha256: Sha256 | None
    """Of the agent's configuration, as the log has it; null: the log has none."""
    sandbox_sha256: Sha256 | None
    sandbox_driver: str | None
    producer: Producer
    provenance: Provenance | None
    passed: bool
    """Whether every finding passed."""
    score: Fraction
    """Passed findings / findings. A figure for CI, not a reward."""
    reward: Fraction | None
    """Weighted mean of the components; null where no component with a weight is present."""
    reward_components: dict[Component, Fraction]
    """Passed findings / findings of each category; one without findings is absent."""
    fault_owner: FaultOwner | None
    """Set where the evidence is not about the model: what failed was the harness, the sandbox or the fixture."""
    findings: tuple[Finding, ...]


class LoadedReport(NamedTuple):
    """A report, and the file it was read from."""

    report: Report
    where: str
    sha256: str
    """Of the bytes of the file."""


def load_report(data: bytes, where: str) -> LoadedReport:
    """Read a report from the bytes of its file.

    Raises:
        InputError: not JSON, another schema or version, or a field that is wrong, missing or not known; names it.
    """
    body = parse_json(data, where)
    if not isinstance(body, dict):
        raise InputError(f"{where}: holds {_shown(body)}; expected an object with schema {Report.schema_name!r}")
    for member, wanted in (("schema", Report.schema_name), ("version", Report.schema_version)):
        found = body.pop(member, None)
        if found is None:
            raise InputError(f"{where}: the field {member!r} is missing; this assay reads {member} {wanted!r}")
        if found != wanted or isinstance(found, bool):
            raise InputError(f"{where}: {member} is {_shown(found)}; this assay reads {member} {wanted!r}")
    try:
        # Strictly, and as JSON: "0.9" and true are no scores, but an array is a tuple.
        report = Report.model_validate_json(json.dumps(body), strict=True)
    except ValidationError as error:
        raise InputError(f"{where}: {_told(error)}") from None
    return LoadedReport(report, where, digest_bytes(data))


def _told(error: ValidationError) -> str:
    errors = error.errors(include_url=False)
    # Unknown fields before missing ones: the one is often a misspelt other.
    first = next((each for each in errors if each["type"] == "extra_forbidden"), errors[0])
    path = first["loc"]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
    if first["type"] == "extra_forbidden":
        return f"unknown field {field!r}{nearest(str(path[-1]), _fields_of(str(path[0])))}"
    if first["type"] == "missing":
        return f"the field {field!r} is missing"
    reason = first["msg"].removeprefix("Value error, ")
    return f"{field}: found {_shown(first['input'])}; {reason[0].lower()}{reason[1:]}"


def _fields_of(member: str) -> Iterable[str]:
    """The known fields of what stands in a member of a report, or of the report itself."""
    inner: dict[str, type[Record]] = {"findings": Finding, "producer": Producer, "provenance": Provenance}
    return inner.get(member, Report).model_fields


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
