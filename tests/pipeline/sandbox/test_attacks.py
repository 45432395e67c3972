"""No attack of the list gets through; `attacks.py` prints it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from attack import Attack, Ground, ground, inside
from attacks import ATTACKS


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground(tmp_path_factory.mktemp("attacks") / "ground") as found:
        yield found


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: f"{attack.group}: {attack.name}")
def test_no_attack_gets_through(attack: Attack, at: Ground, sandbox: None) -> None:
    assert attack.attempt(at) == ""


def test_there_are_at_least_sixty_and_each_is_told_apart() -> None:
    names = [(attack.group, attack.name) for attack in ATTACKS]
    assert len(names) == len(set(names)) >= 60


@pytest.mark.parametrize(
    "body, said",
    [
        ("return True", "THROUGH"),
        ("print('@SECRET'); return False", "the secret was printed"),
        ("return nowhere", "it was not carried out"),
        ("os.kill(os.getpid(), 9)", "it signalled"),
    ],
)
def test_an_attack_that_got_through_or_was_not_carried_out_is_told(
    body: str, said: str, at: Ground, sandbox: None
) -> None:
    assert said in inside(body)(at)


def test_damage_to_the_machine_is_told(tmp_path: Path) -> None:
    with ground(tmp_path / "ground") as found:
        assert found.damage() == ""
        found.secret_file.write_text("other")
        assert found.damage() == "a file of the machine was changed"
