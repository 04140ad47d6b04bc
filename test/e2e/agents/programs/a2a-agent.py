"""An agent made with the official A2A SDK: `python a2a-agent.py`. Writes its address.

What it is told decides what it does: `task`, `stream`, `slow` (until it is cancelled), `ask`, `auth`, `data`, `reject`,
`fail`; everything else it says again. The ids of messages that the compatibility kit sends decide too.
"""

import asyncio
import itertools
import socket
import sys

import uvicorn
from starlette.applications import Starlette

from a2a.helpers.proto_helpers import new_task
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
    Part,
    TaskState,
)
from a2a.utils.errors import InvalidParamsError
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Value


def text(said: str) -> Part:
    return Part(text=said)


def data(said: object) -> Part:
    return Part(data=ParseDict(said, Value()))


FILE = Part(raw=b"tck", media_type="text/plain", filename="output.txt")
LINK = Part(url="https://example.com/output.txt", media_type="text/plain", filename="output.txt")

# What the kit expects of an agent, by how the id of the message begins: the parts of its artifact.
ARTIFACTS = {
    "tck-artifact-file-url": [LINK],
    "tck-artifact-file": [FILE],
    "tck-artifact-data": [data({"key": "value", "count": 42})],
    "tck-artifact-text": [text("Generated text content")],
    "tck-stream-artifact-file": [FILE],
    "tck-stream-artifact-text": [text("Streamed text content")],
    "tck-stream-ordering-001": [text("Ordered output")],
    "tck-stream-001": [text("Stream hello from TCK")],
    "tck-stream-003": [text("Stream task lifecycle")],
    "tck-stream-002": [],
}


class Agent(AgentExecutor):
    async def execute(self, context: RequestContext, queue: EventQueue) -> None:
        message = context.message
        said = context.get_user_input()
        updater = TaskUpdater(queue, context.task_id, context.context_id)
        mid = message.message_id
        if mid.startswith("tck-reject-task") or said.startswith("reject me"):
            raise InvalidParamsError("rejected")
        if mid.startswith("tck-message-response"):
            await queue.enqueue_event(updater.new_agent_message([text("Direct message response")]))
            return
        if said.startswith("fail"):
            raise RuntimeError("the agent failed")
        is_work = mid.startswith(("tck-", "test-")) or said.startswith(("task", "stream", "slow", "ask", "auth", "data"))
        if not is_work and context.current_task is None:
            parts = [text(f"you said {said}"), data({"parts": len(message.parts), "metadata": dict(context.metadata)})]
            await queue.enqueue_event(updater.new_agent_message(parts))
            return
        if context.current_task is None:
            state = TaskState.TASK_STATE_SUBMITTED
            await queue.enqueue_event(new_task(context.task_id, context.context_id, state, history=[message]))
        if mid.startswith(("tck-", "test-")):
            await self.as_the_kit_expects(mid, updater)
        else:
            await self.as_told(said, updater)

    async def as_the_kit_expects(self, mid: str, updater: TaskUpdater) -> None:
        if mid.startswith("tck-input-required"):
            await updater.requires_input()
            return
        if mid.startswith("test-resubscribe-message-id"):
            await updater.start_work()
            await asyncio.sleep(4)
        elif mid.startswith("tck-stream-artifact-chunked"):
            await updater.start_work()
            await updater.add_artifact([text("chunk-1 ")], artifact_id="a1", append=False)
            await updater.add_artifact([text("chunk-2")], artifact_id="a1", append=True, last_chunk=True)
        elif mid.startswith("tck-complete-task"):
            await updater.complete(updater.new_agent_message([text("Hello from TCK")]))
            return
        else:
            parts = next((parts for prefix, parts in ARTIFACTS.items() if mid.startswith(prefix)), [])
            if mid.startswith("tck-stream"):
                await updater.start_work()
            if parts:
                await updater.add_artifact(parts)
        await updater.complete()

    async def as_told(self, said: str, updater: TaskUpdater) -> None:
        await updater.start_work(updater.new_agent_message([text("I am at it")]))
        if said.startswith("ask"):
            await updater.requires_input(updater.new_agent_message([text("which one?")]))
            return
        if said.startswith("auth"):
            await updater.requires_auth(updater.new_agent_message([text("who are you?")]))
            return
        if said.startswith("slow"):
            # It ends by being cancelled.
            for at in itertools.count():
                await updater.add_artifact([text(".")], artifact_id="dots", append=at > 0)
                await asyncio.sleep(0.05)
        if said.startswith("stream"):
            for at, word in enumerate(["one ", "two ", "three"]):
                await updater.add_artifact([text(word)], artifact_id="a1", append=at > 0, last_chunk=at == 2)
        elif said.startswith("data"):
            await updater.add_artifact([data({"k": [1, None, "x"]}), FILE, LINK], artifact_id="a1", name="result")
        else:
            await updater.add_artifact([text("done")], artifact_id="a1", metadata={"of": "the artifact"})
        await updater.complete()

    async def cancel(self, context: RequestContext, queue: EventQueue) -> None:
        await TaskUpdater(queue, context.task_id, context.context_id).cancel()


async def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    card = AgentCard(
        name="Fixture",
        description="Says it again",
        version="1.0.0",
        supported_interfaces=[AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")],
        capabilities=AgentCapabilities(
            streaming=True,
            push_notifications=False,
            extensions=[AgentExtension(uri="https://example.com/ext", description="Ours")],
        ),
        default_input_modes=["text", "text/plain"],
        default_output_modes=["text", "text/plain"],
        skills=[AgentSkill(id="say", name="Say", description="Says it again", tags=["test"])],
    )
    handler = DefaultRequestHandler(Agent(), InMemoryTaskStore(), card, validate_input_modes="modes" in sys.argv)
    app = Starlette(routes=[*create_jsonrpc_routes(handler, "/"), *create_agent_card_routes(card)])
    print(url, flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level="critical")).serve(sockets=[listener])


asyncio.run(main())
