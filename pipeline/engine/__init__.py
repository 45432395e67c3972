"""Carries out the parts of a plan, in this process or on Ray. Knows no flow; the only importer of Ray, and lazily."""

from pipeline.engine.choose import choose_engine as choose_engine
from pipeline.engine.events import Event as Event
from pipeline.engine.events import PartDone as PartDone
from pipeline.engine.events import PartFailed as PartFailed
from pipeline.engine.events import RowBlamed as RowBlamed
from pipeline.engine.events import RowsInWork as RowsInWork
from pipeline.engine.events import Started as Started
from pipeline.engine.events import Stopping as Stopping
from pipeline.engine.events import Waiting as Waiting
from pipeline.engine.execute import execute as execute
from pipeline.engine.outcome import LostServiceError as LostServiceError
from pipeline.engine.ray_pool import PATIENCE as PATIENCE
from pipeline.engine.ray_pool import Patience as Patience
from pipeline.engine.stop import StopSignal as StopSignal
from pipeline.engine.work import PartWorker as PartWorker
from pipeline.engine.work import Place as Place
from pipeline.engine.work import Resources as Resources
from pipeline.engine.work import Serve as Serve
from pipeline.engine.work import Service as Service
from pipeline.engine.work import ServiceSpec as ServiceSpec
from pipeline.engine.work import WorkerSpec as WorkerSpec
