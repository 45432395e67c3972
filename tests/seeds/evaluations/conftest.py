"""The example that the document on evaluations goes on with, re-enacted: a library's requests and who answers them."""

import json
import re

import pytest

import pipeline

REQUESTS = [
    ("May I borrow two field guides?", "loans", 2),
    ("I would like to borrow 3 atlases for the weekend", "loans", 3),
    ("I lost one of the novels that I borrowed in May", "fees", 1),
    ("Is the roof garden open on Sundays?", "visits", 0),
]


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    """The store that everything uses which is not told another."""
    folder = tmp_path / "store"
    monkeypatch.setenv("ASSAY_STORE", str(folder))
    return folder


@pytest.fixture
def rows():
    return [
        {"request": request, "expected": json.dumps({"desk": desk, "books": books}), "expected_desk": desk}
        for request, desk, books in REQUESTS
    ]


@pytest.fixture
def dataset(rows):
    return pipeline.DatasetClient().upload("library-desk", rows)


@pytest.fixture
def route_request():
    """Reads numbers only as words, and sends whoever mentions borrowing to the loans desk."""

    @pipeline.function
    def route_request(request: str) -> str:
        text = request.lower()
        desks = {"borrow": "loans", "lost": "fees", "return": "returns"}
        desk = next((desk for word, desk in desks.items() if word in text), None)
        if desk is None:
            return "no desk found"
        numbers = {"one": 1, "two": 2, "three": 3}
        counts = [numbers[word] for word in re.findall(r"[a-z]+", text) if word in numbers]
        return json.dumps({"desk": desk, "books": counts[0] if counts else 1})

    return route_request


@pytest.fixture
def evaluation(dataset, route_request):
    """The smallest one: one task, one scorer."""
    return pipeline.Evaluation.create(
        "library-desk",
        dataset=dataset,
        task=route_request,
        scorers=[pipeline.scorers.json_valid(name="valid-json")],
    )
