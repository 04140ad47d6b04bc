"""A server made with the official MCP SDK, which uses what that SDK's documentation shows: `python mcp-server.py`.

Writes its address. It knows nothing of any gateway.
"""

import asyncio
import socket
from typing import Annotated

import anyio
import uvicorn
from pydantic import BaseModel, Field

from mcp.server import CacheHint, MCPServer
from mcp.server.mcpserver import Audio, Context, Elicit, Image, ListRoots, Resolve, Sample
from mcp.server.mcpserver.prompts.base import AssistantMessage, UserMessage
from mcp.types import (
    Annotations,
    CallToolResult,
    Completion,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    InputRequiredResult,
    ListRootsResult,
    ResourceTemplateReference,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)

server = MCPServer(
    "the-server",
    version="1.0.0",
    instructions="Call anything.",
    log_level="ERROR",
    cache_hints={"tools/list": CacheHint(ttl_ms=60_000, scope="public")},
)
seen = {"cancelled": 0}


class Sum(BaseModel):
    sum: int = Field(description="Both together")


class Person(BaseModel):
    name: str


class Colour(BaseModel):
    colour: str


@server.tool()
def add(a: int, b: int) -> Sum:
    """Add two numbers."""
    return Sum(sum=a + b)


@server.tool()
def echo(said: str) -> str:
    """Say it again."""
    return said


@server.tool()
def picture() -> Image:
    """A picture."""
    return Image(data=b"\x89PNG\r\n\x1a\n", format="png")


@server.tool()
def sound() -> Audio:
    """A sound."""
    return Audio(data=b"RIFF\0\0\0\0WAVE", format="wav")


@server.tool()
def mixed() -> CallToolResult:
    """Several kinds of content."""
    resource = TextResourceContents(uri="note://one", mime_type="text/plain", text="a note")
    return CallToolResult(
        content=[
            TextContent(type="text", text="see below", annotations=Annotations(audience=["user"], priority=0.5)),
            EmbeddedResource(type="resource", resource=resource),
        ],
        structured_content={"deep": [{"a": 1.5, "b": None}]},
        _meta={"example.com/own": True},
    )


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("the tool failed")


@server.tool()
def mirrored(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    priority: Annotated[int, Field(json_schema_extra={"x-mcp-header": "Priority"})],
    ctx: Context,
) -> str:
    """Has arguments that headers repeat."""
    return f"{region} {priority} {ctx.headers.get('mcp-param-region')}"


@server.tool()
async def progress(steps: int, ctx: Context) -> str:
    """Tells how far it is."""
    for step in range(steps):
        await ctx.report_progress(step + 1, total=steps, message=f"step {step + 1}")
    return "all steps done"


@server.tool()
async def log(ctx: Context) -> str:
    """Tells what it does."""
    for level in ("debug", "info", "warning"):
        await ctx.log(level, f"at {level}", logger_name="tool")
    return "told"


@server.tool()
async def wait(ctx: Context) -> str:
    """Until it is cancelled."""
    await ctx.report_progress(1)
    try:
        await anyio.sleep(120)
    except anyio.get_cancelled_exc_class():
        seen["cancelled"] += 1
        raise
    return "waited"


@server.tool(name="seen")
def tell_seen() -> int:
    """How many calls were cancelled."""
    return seen["cancelled"]


@server.tool()
def provision(name: str, ctx: Context) -> CallToolResult | InputRequiredResult:
    """Asks for the region, by hand."""
    answer = (ctx.input_responses or {}).get("region")
    if not isinstance(answer, ElicitResult) or answer.content is None:
        form = ElicitRequestFormParams(
            message="Which region?",
            requested_schema={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        )
        return InputRequiredResult(input_requests={"region": ElicitRequest(params=form)}, request_state="round-1")
    said = f"{name} in {answer.content['name']}, {ctx.request_state}"
    return CallToolResult(content=[TextContent(type="text", text=said)])


def ask_name() -> Elicit[Person]:
    return Elicit("What is your name?", Person)


def ask_colour(person: Annotated[Person, Resolve(ask_name)]) -> Elicit[Colour]:
    return Elicit(f"Which colour does {person.name} like?", Colour)


@server.tool()
def introduce(
    person: Annotated[Person, Resolve(ask_name)],
    colour: Annotated[Colour, Resolve(ask_colour)],
) -> str:
    """Asks twice, one after the other."""
    return f"{person.name} likes {colour.colour}"


def draft(title: str) -> Sample:
    said = SamplingMessage(role="user", content=TextContent(type="text", text=f"A line about {title}"))
    return Sample([said], max_tokens=60)


@server.tool()
def blurb(title: str, made: Annotated[CreateMessageResult, Resolve(draft)]) -> str:
    """Has the client's model write."""
    return made.content.text


def roots_of_client() -> ListRoots:
    return ListRoots()


@server.tool()
def roots(found: Annotated[ListRootsResult, Resolve(roots_of_client)]) -> str:
    """What the client works on."""
    return " ".join(str(root.uri) for root in found.roots)


@server.tool()
async def change(ctx: Context) -> str:
    """Says that everything is another."""
    await ctx.notify_tools_changed()
    await ctx.notify_prompts_changed()
    await ctx.notify_resources_changed()
    await ctx.notify_resource_updated("note://one")
    return "changed"


@server.resource("note://one", mime_type="text/plain")
def note() -> str:
    """A note."""
    return "the note"


@server.resource("note://bytes", mime_type="application/octet-stream")
def binary() -> bytes:
    """Bytes."""
    return bytes(range(256))


@server.resource("note://of/{name}")
def note_of(name: str) -> str:
    """Somebody's note."""
    return f"the note of {name}"


@server.prompt()
def review(language: str, code: str = "pass") -> str:
    """Review a snippet."""
    return f"Review this {language} code:\n{code}"


@server.prompt()
def talk() -> list[UserMessage | AssistantMessage]:
    """Several turns."""
    return [UserMessage("Why does it fail?"), AssistantMessage("Let us look."), UserMessage("Please do.")]


@server.completion()
async def complete(ref, argument, context) -> Completion | None:
    if isinstance(ref, ResourceTemplateReference):
        given = context.arguments if context else {}
        return Completion(values=[f"{argument.value}-{given}"], total=1, has_more=False)
    words = ["go", "javascript", "python", "rust"]
    return Completion(values=[word for word in words if word.startswith(argument.value)])


async def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    app = server.streamable_http_app()
    await uvicorn.Server(uvicorn.Config(app, log_level="critical")).serve(sockets=[listener])


asyncio.run(main())
