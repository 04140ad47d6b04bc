import os

from cases import KEY, MODEL, QUESTION, WEATHER, run
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput


class Weather(BaseModel):
    city: str
    celsius: int


def model(root):
    if os.environ.get("KIND") == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(MODEL, provider=AnthropicProvider(base_url=root, api_key=KEY))
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=f"{root}/v1", api_key=KEY))


def weather(city: str) -> str:
    """Tells the weather."""
    return WEATHER


async def ask(root, **more):
    return (await Agent(model(root), retries=0, **more).run(QUESTION)).output


async def streamed(root, **more):
    async with Agent(model(root), retries=0, **more).run_stream(QUESTION) as result:
        return await result.get_output()


cases = {
    "plain": ask,
    "stream": streamed,
    "tools": lambda root: ask(root, tools=[weather]),
    "tools-stream": lambda root: streamed(root, tools=[weather]),
    # It makes the answer a call of a tool of its own.
    "structured-by-tool": lambda root: ask(root, output_type=Weather),
}
if os.environ.get("KIND") != "anthropic":
    cases["structured"] = lambda root: ask(root, output_type=NativeOutput(Weather))
run(**cases)
