"""What the requests of a session have cost, and when the next one would cost too much."""

from __future__ import annotations

from pipeline.records.audit_content import Cost, FreeCost, KnownCost


class Spending:
    """Of one session, without its children."""

    def __init__(self) -> None:
        self.amounts: dict[str, float] = {}
        """Currency → sum of the prices that are known."""
        self.n_requests = 0
        self.n_unpriced = 0
        """Requests whose price is not known. They are never taken for free."""

    def add(self, cost: Cost) -> None:
        """The next request."""
        self.n_requests += 1
        if isinstance(cost, KnownCost):
            money = cost.known
            self.amounts[money.currency] = self.amounts.get(money.currency, 0.0) + money.value
        elif not isinstance(cost, FreeCost):
            self.n_unpriced += 1

    def would_exceed(self, most: float, currency: str) -> bool:
        """Whether one more request of the usual price goes beyond a bound. Unknown prices bound nothing."""
        if not self.n_requests or self.n_unpriced or set(self.amounts) - {currency}:
            return False
        amount = self.amounts.get(currency, 0.0)
        return amount + amount / self.n_requests > most
