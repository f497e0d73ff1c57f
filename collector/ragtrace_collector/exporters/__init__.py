"""Send batches to backends: once, with retry of what may yet be taken, and an account of what may not."""

from ragtrace_collector.exporters.fanout import Exporters, make_file_outlet, make_outlet
from ragtrace_collector.exporters.outlet import Outlet
from ragtrace_collector.exporters.patient import PatientOutlet
from ragtrace_collector.exporters.target import Destination

__all__ = ["Destination", "Exporters", "Outlet", "PatientOutlet", "make_file_outlet", "make_outlet"]
