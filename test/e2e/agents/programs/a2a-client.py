"""What the official A2A client is answered by an agent, feature by feature: `python a2a-client.py URL AUTHORIZATION`.

It knows the agent's base URL alone, and finds the rest in the card. Writes one line of JSON for each feature:
`[feature, what was seen]`. Ids and times that agents make are written as their kind, addresses as `<url>`.
"""

import asyncio
import json
import re
import sys

import httpx
import jwt
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Struct, Value

from a2a.client import A2ACardResolver, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.service_parameters import ServiceParametersFactory, with_a2a_extensions
from a2a.types import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import A2AError, PushNotificationNotSupportedError
from a2a.utils.signing import create_signature_verifier

base, authorization = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
made = 0


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return MessageToDict(value) if hasattr(value, "DESCRIPTOR") else value


def tell(feature, said):
    print(TIME.sub("<time>", UUID.sub("<id>", json.dumps([feature, plain(said)], sort_keys=True))), flush=True)


async def told(feature, run):
    try:
        tell(feature, await run())
    except A2AError as error:
        tell(feature, {"error": type(error).__name__, "message": error.message.replace(base, "<url>")})


def request(said, parts=None, configuration=None, **facts):
    global made
    made += 1
    message = Message(message_id=f"c-{made}", role=Role.ROLE_USER, parts=parts or [Part(text=said)], **facts)
    return SendMessageRequest(message=message, configuration=configuration)


async def everything(events):
    return [event async for event in events]


async def signed(http):
    """By whom the card is signed: nobody, or who the gateway says."""
    card = (await http.get(f"{base.rstrip('/')}/.well-known/agent-card.json")).json()
    if "signatures" not in card:
        return False

    def key(kid, jku):
        found = {one.key_id: one for one in jwt.PyJWKClient(jku).get_signing_keys()}
        return found[kid].key

    verifier = create_signature_verifier(key, ["ES256"])
    await A2ACardResolver(http, base).get_agent_card(signature_verifier=verifier)
    return True


async def main() -> None:
    headers = {"cookie": "a=b", **({"authorization": authorization} if authorization else {})}
    http = httpx.AsyncClient(headers=headers, timeout=30)
    card = await A2ACardResolver(http, base).get_agent_card()
    address = card.supported_interfaces[0].url
    assert address.rstrip("/") == base.rstrip("/"), f"the card names {address}"
    card_facts = plain(card)
    for name in ("supportedInterfaces", "securitySchemes", "securityRequirements", "signatures"):
        card_facts.pop(name, None)
    card_facts["capabilities"].pop("extendedAgentCard", None)
    tell("card", card_facts)
    tell("signed", await signed(http))
    whole = ClientFactory(ClientConfig(streaming=False, httpx_client=http)).create(card)
    polling = ClientFactory(ClientConfig(streaming=False, polling=True, httpx_client=http)).create(card)
    client = await ClientFactory(ClientConfig(httpx_client=http)).create_from_url(base)

    async def send(said, by=whole, context=None, **facts):
        return await everything(by.send_message(request(said, **facts), context=context))

    await told("message", lambda: send("hello Größe 地図 \U0001f680"))
    metadata = Struct()
    metadata.update({"trace": "t"})
    parts = [
        Part(text="a"),
        Part(data=ParseDict({"k": [1, None]}, Value())),
        Part(url="https://files.example/x.pdf", media_type="application/pdf", filename="x.pdf"),
        Part(raw=b"hi", media_type="text/plain"),
    ]
    await told("parts", lambda: send("", parts=parts, metadata=metadata, extensions=["https://example.com/ext"]))
    modes = SendMessageConfiguration(accepted_output_modes=["text/plain"], history_length=1)
    await told("configuration", lambda: send("task", configuration=modes))
    extended = ServiceParametersFactory.create([with_a2a_extensions(["https://example.com/ext"])])
    await told("extensions", lambda: send("hello", context=ClientCallContext(service_parameters=extended)))
    await told("task", lambda: send("task"))
    await told("data", lambda: send("data"))
    await told("failure", lambda: send("fail"))
    await told("rejected", lambda: send("reject me"))
    await told("authentication wanted", lambda: send("auth"))
    await told("stream", lambda: send("stream", by=client))
    await told("stream of one message", lambda: send("hello", by=client))
    asked = (await send("ask"))[0].task
    ids = {"task_id": asked.id, "context_id": asked.context_id}
    await told("get", lambda: client.get_task(GetTaskRequest(id=asked.id, history_length=2)))
    await told("answered", lambda: send("task", **ids))
    await told("list", lambda: client.list_tasks(ListTasksRequest(context_id=asked.context_id, page_size=10)))
    await send("task", context_id=asked.context_id)
    page = ListTasksRequest(context_id=asked.context_id, include_artifacts=True, page_size=1)
    for number in (1, 2):
        found = await client.list_tasks(page)
        page.page_token = found.next_page_token
        found.next_page_token = "<token>" if found.next_page_token else ""
        tell(f"page {number}", found)
    await told("unknown task", lambda: client.get_task(GetTaskRequest(id="nope")))
    await told("cancel what has ended", lambda: client.cancel_task(CancelTaskRequest(id=asked.id)))
    ended = SubscribeToTaskRequest(id=asked.id)
    await told("subscribe to what has ended", lambda: everything(client.subscribe(ended)))

    async def push():
        config = TaskPushNotificationConfig(task_id=asked.id, url="https://hooks.example/x")
        try:
            return await client.create_task_push_notification_config(config)
        except PushNotificationNotSupportedError as error:
            return {"error": type(error).__name__}

    await told("push", push)

    async def extended_card():
        return (await client.get_extended_agent_card(GetExtendedAgentCardRequest())).name

    await told("extended card", extended_card)

    async def polled():
        begun = (await send("slow", by=polling))[0].task
        state = begun.status.state
        cancelled = await client.cancel_task(CancelTaskRequest(id=begun.id))
        return [TaskState.Name(state) != "TASK_STATE_COMPLETED", TaskState.Name(cancelled.status.state)]

    await told("polling", polled)

    async def two_listen():
        listening = client.send_message(request("slow"))
        begun = (await anext(listening)).task.id
        again = client.subscribe(SubscribeToTaskRequest(id=begun))
        kind = (await anext(again)).WhichOneof("payload")
        cancelled = await client.cancel_task(CancelTaskRequest(id=begun))
        ends = [(await everything(one))[-1] for one in (listening, again)]
        return [kind, TaskState.Name(cancelled.status.state), plain(ends)]

    await told("cancel while two listen", two_listen)

    async def leaves():
        listening = client.send_message(request("slow"))
        begun = (await anext(listening)).task.id
        await listening.aclose()
        state = (await client.get_task(GetTaskRequest(id=begun))).status.state
        await client.cancel_task(CancelTaskRequest(id=begun))
        return TaskState.Name(state)

    await told("a client that leaves", leaves)
    at_once = await asyncio.gather(*(send(f"hello {number}") for number in range(20)))
    tell("at once", [plain(one[0].message.parts[0]) for one in at_once])


asyncio.run(main())
