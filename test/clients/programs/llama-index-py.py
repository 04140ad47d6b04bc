import os

from cases import KEY, MODEL, QUESTION, WEATHER, run
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from pydantic import BaseModel


class Weather(BaseModel):
    """The weather."""

    city: str
    celsius: int


# The libraries know their models by name, and what each may do.
def llm(root):
    if os.environ.get("KIND") == "anthropic":
        from llama_index.llms.anthropic import Anthropic

        return Anthropic(model=os.environ.get("KNOWN_MODEL", "claude-sonnet-4-5"), base_url=root, api_key=KEY, max_retries=0)
    from llama_index.llms.openai import OpenAI

    return OpenAI(model=os.environ.get("KNOWN_MODEL", "gpt-4o"), api_base=f"{root}/v1", api_key=KEY, max_retries=0)


MESSAGES = [ChatMessage(role="user", content=QUESTION)]


def get_weather(city: str) -> str:
    """Tells the weather."""
    return WEATHER


async def tools(root):
    agent = FunctionAgent(tools=[get_weather], llm=llm(root))
    return str(await agent.run(QUESTION))


run(
    plain=lambda root: llm(root).chat(MESSAGES).message.content,
    stream=lambda root: "".join(chunk.delta or "" for chunk in llm(root).stream_chat(MESSAGES)),
    tools=tools,
    structured=lambda root: llm(root).as_structured_llm(Weather).chat(MESSAGES).raw,
)
