"""A task and two scorers that do to a row what the row says. The workers load them from their source."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from typing import Any

from pipeline import function


class TwoParts(Exception):
    """Cannot be made again from its message alone, which is what unpickling tries."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"{what} in {where}")


class HeldLock(Exception):
    """Cannot be pickled."""

    def __init__(self) -> None:
        super().__init__(threading.Lock())


class TooManyRequests(Exception):
    """As clients of model endpoints raise it."""

    status_code = 429


def suffer(fault: str, result: Any) -> Any:
    """The result, or what befalls this row; kinds that are not known here do nothing."""
    match fault:
        case "raises":
            raise ValueError("seven is not a colour")
        case "raises with two arguments":
            raise TwoParts("no colour", "seven")
        case "raises what cannot be pickled":
            raise HeldLock
        case "is refused by a rate limit":
            raise TooManyRequests("slow down")
        case "finds no memory":
            raise MemoryError
        case "returns what cannot be pickled":
            return threading.Lock()
        case "returns 2 GiB":
            return "x" * 2**31
        case "recurses without end":
            return suffer(fault, result)
        case "exits politely":
            raise SystemExit(3)
        case "is cancelled":
            raise asyncio.CancelledError
        case "ends the process":
            os._exit(1)
        case "segfaults":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "eats all memory":
            _eat()
        case "never ends":
            while True:
                pass
        case "waits too long":
            time.sleep(30)
        case _:
            pass
    return result


def _eat() -> None:
    eaten = []
    while True:
        eaten.append(bytearray(os.urandom(2**20)) * 64)
        time.sleep(0.01)


@function
def answer(question: str, fault: str | None) -> str:
    return suffer((fault or "").removeprefix("task: "), f"The answer to {question} is {len(question)}.")


@function(timeout_s=1)
def patient_answer(question: str, fault: str | None) -> str:
    return suffer((fault or "").removeprefix("task: "), f"The answer to {question} is {len(question)}.")


@function
def strictly(question: str, fault: str) -> str:
    return f"The answer to {question} is {len(question)}."


@function
def plausible(output: str, fault: str | None) -> float:
    return suffer((fault or "").removeprefix("scorer: "), 0.25 + (len(output) % 3) / 4)


@function(timeout_s=1)
def quick(output: str, fault: str | None) -> float:
    return suffer((fault or "").removeprefix("slow scorer: "), 0.5)
