import json
import os

import litellm
from cases import KEY, MODEL, QUESTION, WEATHER, run
from pydantic import BaseModel

litellm.telemetry = False


class Weather(BaseModel):
    city: str
    celsius: int


MESSAGES = [{"role": "user", "content": QUESTION}]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Tells the weather.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]


def ask(root, **more):
    of_anthropic = os.environ.get("KIND") == "anthropic"
    base = root if of_anthropic else f"{root}/v1"
    model = f"anthropic/{MODEL}" if of_anthropic else f"openai/{MODEL}"
    return litellm.completion(**{"model": model, "api_base": base, "api_key": KEY, "messages": MESSAGES, "num_retries": 0, **more})


def stream(root):
    chunks = ask(root, stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def tools(root):
    first = ask(root, tools=TOOLS).choices[0].message
    answers = [
        {"role": "tool", "tool_call_id": call.id, "name": call.function.name, "content": WEATHER}
        for call in first.tool_calls
    ]
    return ask(root, tools=TOOLS, messages=[*MESSAGES, first, *answers]).choices[0].message.content


run(
    plain=lambda root: ask(root).choices[0].message.content,
    stream=stream,
    tools=tools,
    structured=lambda root: json.loads(ask(root, response_format=Weather).choices[0].message.content),
)
