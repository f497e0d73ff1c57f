"""Take OTLP requests in and hand their bytes on: transport only, no thought about what is in them."""

from ragtrace_collector.receivers.endpoint import Endpoint, Limits
from ragtrace_collector.receivers.grpc import GrpcReceiver
from ragtrace_collector.receivers.http import HttpReceiver

__all__ = ["Endpoint", "GrpcReceiver", "HttpReceiver", "Limits"]
