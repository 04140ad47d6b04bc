from anthropic import Anthropic, beta_tool
from cases import KEY, MODEL, QUESTION, WEATHER, run
from pydantic import BaseModel


class Weather(BaseModel):
    city: str
    celsius: int


@beta_tool
def get_weather(city: str) -> str:
    """Tells the weather.

    Args:
        city: Where.
    """
    return WEATHER


MESSAGES = [{"role": "user", "content": QUESTION}]
BASE = {"model": MODEL, "max_tokens": 1024, "messages": MESSAGES}


def client(root):
    return Anthropic(base_url=root, api_key=KEY, max_retries=0)


def text_of(message):
    return "".join(getattr(block, "text", "") for block in message.content)


def stream(root):
    with client(root).messages.stream(**BASE) as events:
        return "".join(events.text_stream)


def tools(root):
    return text_of(client(root).beta.messages.tool_runner(**BASE, tools=[get_weather]).until_done())


def structured(root):
    return client(root).messages.parse(**BASE, output_format=Weather).parsed_output


run(
    plain=lambda root: text_of(client(root).messages.create(**BASE)),
    stream=stream,
    tools=tools,
    structured=structured,
    count=lambda root: client(root).messages.count_tokens(model=MODEL, messages=MESSAGES).input_tokens,
)
