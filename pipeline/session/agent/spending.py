"""What the requests of a session have cost, and when the next one would cost too much."""

from __future__ import annotations

from decimal import Decimal

from pipeline.records.audit_content import Cost, FreeCost, KnownCost


class Spending:
    """Of one session, and what it gave to its helpers, whether they spent it or not. Adds without rounding."""

    def __init__(self) -> None:
        self.n_requests = 0
        self.n_unpriced = 0
        """Requests whose price is not known. They are never taken for free."""
        self._spent: dict[str, Decimal] = {}
        self._given = Decimal(0)

    @property
    def amounts(self) -> dict[str, float]:
        """Currency → sum of the prices that are known."""
        return {currency: float(amount) for currency, amount in self._spent.items()}

    def add(self, cost: Cost) -> None:
        """The next request."""
        self.n_requests += 1
        if isinstance(cost, KnownCost):
            currency, value = cost.known.currency, Decimal(repr(cost.known.value))
            self._spent[currency] = self._spent.get(currency, Decimal(0)) + value
        elif not isinstance(cost, FreeCost):
            self.n_unpriced += 1

    def would_exceed(self, most: float, currency: str) -> bool:
        """Whether one more request of the usual price goes beyond a bound. Unknown prices bound nothing."""
        if not self.n_requests or self.n_unpriced or set(self._spent) - {currency}:
            return False
        spent = self._spent.get(currency, Decimal(0))
        return spent + spent / self.n_requests > Decimal(repr(most)) - self._given

    def give_half(self, most: float, currency: str) -> float:
        """Set half of what is left apart, for a helper."""
        left = Decimal(repr(most)) - self._spent.get(currency, Decimal(0)) - self._given
        share = max(Decimal(0), left) / 2
        self._given += share
        return float(share)
