"""`--trajectory FILE` of the commands that judge a session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from pipeline.cli.screen import printable
from pipeline.errors import InputError
from pipeline.session.new_file import check_new_file, write_new_file

if TYPE_CHECKING:
    from pipeline.records.trajectory import Trajectory
    from pipeline.session.check import CheckOptions
    from pipeline.session.session_files import SessionLog
    from pipeline.session.spec_file import LoadedSpec
    from pipeline.store import Store


class TrajectoryFile(NamedTuple):
    """Where a trajectory is to be written."""

    path: Path
    overwrite: bool

    @classmethod
    def asked_for(cls, path: Path | None, *, overwrite: bool, has_others: bool = False) -> Self | None:
        """What the options say; None: no trajectory is wanted.

        Args:
            path: of `--trajectory`.
            overwrite: whether `--overwrite` was given.
            has_others: whether the command writes other files, too, which `--overwrite` may be about.

        Raises:
            InputError: the file is there already or cannot be made, or there is nothing to overwrite.
        """
        if path is None:
            if overwrite and not has_others:
                raise InputError("--overwrite is about the file of --trajectory, which is missing")
            return None
        check_new_file(path, overwrite=overwrite)
        return cls(path, overwrite)

    def refuse(self, *others: Path | None) -> Self:
        """Refuse to write over a file that the command reads, or writes for another purpose.

        Raises:
            InputError: it is one of them.
        """
        for other in others:
            if other is not None and self.path.resolve() == other.resolve():
                raise InputError(f"--trajectory {self.path} is {other} itself; choose another name")
        return self

    def check(self, loaded: LoadedSpec, log: SessionLog, store: Store, settings: CheckOptions) -> Trajectory:
        """Judge a session, and bind what is known of it."""
        from pipeline.session.bound_check import check_and_bind  # 0.04 s of models, for those who ask for it

        self.refuse(loaded.path, loaded.capture, log.path)
        return check_and_bind(loaded, log, store, settings)

    def write(self, trajectory: Trajectory) -> None:
        """Write the file, whole or not at all."""
        write_new_file(self.path, trajectory.to_bytes(), overwrite=self.overwrite)

    def tell(self, trajectory: Trajectory) -> None:
        """Say below a report what was written."""
        n_turns, reasons = len(trajectory.turns), trajectory.not_trainable_because
        print(f"\ntrajectory {printable(str(self.path))}: {n_turns:,} turns, ", end="")
        if trajectory.trainable:
            print("trainable")
            return
        print(f"not trainable, {len(reasons):,} {'reason' if len(reasons) == 1 else 'reasons'}:")
        for reason in reasons[:N_REASONS]:
            print(f"- {printable(reason)}")
        if len(reasons) > N_REASONS:
            print(f"  and {len(reasons) - N_REASONS:,} more in the file")


N_REASONS = 5  # shown; the file has all of them
