import os

from cases import KEY, MODEL, QUESTION, WEATHER, run
from langchain_core.tools import tool
from langgraph.prebuilt import create_react_agent
from pydantic import BaseModel


class Weather(BaseModel):
    city: str
    celsius: int


@tool
def get_weather(city: str) -> str:
    """Tells the weather."""
    return WEATHER


def model(root):
    if os.environ.get("KIND") == "anthropic":
        from langchain_anthropic import ChatAnthropic

        return ChatAnthropic(model=MODEL, api_key=KEY, base_url=root, max_retries=0)
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model=MODEL, api_key=KEY, base_url=f"{root}/v1", max_retries=0)


def text_of(message):
    content = message.content
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def tools(root):
    agent = create_react_agent(model(root), [get_weather])
    return text_of(agent.invoke({"messages": [("user", QUESTION)]})["messages"][-1])


def tools_stream(root):
    agent = create_react_agent(model(root), [get_weather])
    said = ""
    for message, _ in agent.stream({"messages": [("user", QUESTION)]}, stream_mode="messages"):
        said = text_of(message) or said
    return said


run(
    plain=lambda root: text_of(model(root).invoke(QUESTION)),
    stream=lambda root: "".join(text_of(chunk) for chunk in model(root).stream(QUESTION)),
    tools=tools,
    **{"tools-stream": tools_stream},
    structured=lambda root: model(root).with_structured_output(Weather).invoke(QUESTION),
)
