from typing import Annotated

from cases import KEY, MODEL, QUESTION, WEATHER, run
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import tool
from haystack.utils import Secret
from pydantic import BaseModel


class Weather(BaseModel):
    city: str
    celsius: int


@tool
def get_weather(city: Annotated[str, "Where"]) -> str:
    """Tells the weather."""
    return WEATHER


def generator(root, **more):
    return OpenAIChatGenerator(
        api_key=Secret.from_token(KEY), model=MODEL, api_base_url=f"{root}/v1", max_retries=0, **more
    )


MESSAGES = [ChatMessage.from_user(QUESTION)]


def tools(root):
    agent = Agent(chat_generator=generator(root), tools=[get_weather])
    return agent.run(messages=MESSAGES)["messages"][-1].text


def stream(root):
    return generator(root, streaming_callback=lambda _: None).run(MESSAGES)["replies"][0].text


def structured(root):
    return generator(root, generation_kwargs={"response_format": Weather}).run(MESSAGES)["replies"][0].text


run(
    plain=lambda root: generator(root).run(MESSAGES)["replies"][0].text,
    stream=stream,
    tools=tools,
    structured=structured,
)
