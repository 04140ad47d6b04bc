"""What the official MCP client is answered by a server, feature by feature: `python mcp-client.py URL AUTHORIZATION`.

Writes one line of JSON for each: `[feature, what was seen]`.
"""

import asyncio
import json
import sys

import anyio
import httpx2

from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import (
    CreateMessageResult,
    ElicitResult,
    InputRequiredResult,
    ListRootsResult,
    PromptReference,
    ResourceTemplateReference,
    Root,
    TextContent,
)

url, authorization = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
ANSWERS = {"name": "bo", "colour": "green"}
logged = []


async def elicit(context, params):
    wanted = next(iter(params.requested_schema["properties"]))
    return ElicitResult(action="accept", content={wanted: ANSWERS[wanted]})


async def sample(context, params):
    said = params.messages[0].content.text
    return CreateMessageResult(model="m", role="assistant", content=TextContent(type="text", text=f"on: {said}"))


async def list_roots(context):
    return ListRootsResult(roots=[Root(uri="file:///work", name="work")])


async def logging(params):
    logged.append([params.level, params.logger, params.data])


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.model_dump(mode="json", by_alias=True) if hasattr(value, "model_dump") else value


def tell(feature, said):
    print(json.dumps([feature, plain(said)]), flush=True)


async def told(feature, run):
    try:
        tell(feature, await run())
    except MCPError as error:
        tell(feature, {"error": plain(error.error)})


async def by_hand(client):
    """The rounds of a call, each made by the caller."""
    result = await client.session.call_tool("provision", {"name": "db"}, allow_input_required=True)
    rounds = [result]
    while isinstance(result, InputRequiredResult):
        responses = {key: await elicit(None, asked.params) for key, asked in result.input_requests.items()}
        again = {"input_responses": responses, "request_state": result.request_state}
        result = await client.session.call_tool("provision", {"name": "db"}, allow_input_required=True, **again)
        rounds.append(result)
    for one in rounds:
        if isinstance(one, InputRequiredResult):
            one.request_state = "<sealed>" if one.request_state else None
    return rounds


async def progress(client):
    seen = []

    async def tick(done, total, message):
        seen.append([done, total, message])

    result = await client.call_tool("progress", {"steps": 3}, progress_callback=tick)
    return [seen, result]


async def cancellation(client):
    async def cancelled():
        return (await client.call_tool("seen")).structured_content["result"]

    before = await cancelled()
    with anyio.CancelScope() as scope:

        async def tick(*_):
            scope.cancel()

        await client.call_tool("wait", progress_callback=tick)
    with anyio.fail_after(20):
        while await cancelled() == before:
            await anyio.lowlevel.checkpoint()
    return [scope.cancelled_caught, await cancelled() - before]


async def listening(client):
    seen = []
    wanted = {"tools_list_changed": True, "prompts_list_changed": True, "resources_list_changed": True}
    async with client.listen(**wanted, resource_subscriptions=["note://one"]) as subscription:
        await client.call_tool("change")
        async for event in subscription:
            seen.append(repr(event))
            if len(seen) == 4:
                break
        return [plain(subscription.honored), sorted(seen)]


async def main() -> None:
    headers = {"cookie": "a=b", **({"authorization": authorization} if authorization else {})}
    http = httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(30))
    client = Client(
        streamable_http_client(url, http_client=http),
        elicitation_callback=elicit,
        sampling_callback=sample,
        list_roots_callback=list_roots,
        logging_callback=logging,
        cache=None,
    )
    async with http, client:
        tell("server", [client.protocol_version, client.server_info, client.server_capabilities, client.instructions])
        await told("tools", client.list_tools)
        again = await client.list_tools()
        # What is kept on the way has less time left.
        again.ttl_ms = "some" if 0 < again.ttl_ms <= 60_000 else again.ttl_ms
        tell("tools again", [tool.name for tool in again.tools] + [again.ttl_ms, again.cache_scope])
        await told("resources", client.list_resources)
        await told("templates", client.list_resource_templates)
        await told("prompts", client.list_prompts)
        for name in ("picture", "sound", "mixed", "fail", "nobody"):
            await told(name, lambda: client.call_tool(name))
        await told("structured", lambda: client.call_tool("add", {"a": 1, "b": 2}))
        await told("wrong arguments", lambda: client.call_tool("add", {"a": "x"}))
        await told("not ascii", lambda: client.call_tool("echo", {"said": 'Größe 地図 \U0001f680 \u2028 \\ "'}))
        # An event of more than a mebibyte is too much for the client itself.
        large = await client.call_tool("echo", {"said": "0123456789" * 40_000})
        tell("large", len(large.content[0].text))
        await told("mirrored", lambda: client.call_tool("mirrored", {"region": "地図", "priority": 7}))
        for uri in ("note://one", "note://bytes", "note://of/bo", "note://nothing"):
            await told(uri, lambda: client.read_resource(uri))
        await told("prompt", lambda: client.get_prompt("review", {"language": "go"}))
        await told("prompt of turns", lambda: client.get_prompt("talk"))
        await told("unknown prompt", lambda: client.get_prompt("nobody"))
        review = PromptReference(type="ref/prompt", name="review")
        await told("complete", lambda: client.complete(review, {"name": "language", "value": "p"}))
        template = ResourceTemplateReference(type="ref/resource", uri="note://of/{name}")
        given = {"context_arguments": {"other": "x"}}
        await told("complete a template", lambda: client.complete(template, {"name": "name", "value": "b"}, **given))
        await told("rounds by hand", lambda: by_hand(client))
        await told("rounds", lambda: client.call_tool("provision", {"name": "db"}))
        await told("two rounds", lambda: client.call_tool("introduce"))
        await told("sampling", lambda: client.call_tool("blurb", {"title": "Dune"}))
        await told("roots", lambda: client.call_tool("roots"))
        await told("progress", lambda: progress(client))
        await client.call_tool("log", meta={"io.modelcontextprotocol/logLevel": "info"})
        tell("logging", logged)
        await told("cancellation", lambda: cancellation(client))
        await told("listening", lambda: listening(client))
        after = await asyncio.gather(*(client.call_tool("add", {"a": a, "b": 1}) for a in range(20)))
        tell("at once", [one.structured_content for one in after])


asyncio.run(main())
