from cases import KEY, MODEL, QUESTION, WEATHER, run
from openai import OpenAI, pydantic_function_tool
from pydantic import BaseModel


class Weather(BaseModel):
    city: str
    celsius: int


class GetWeather(BaseModel):
    """Tells the weather."""

    city: str


MESSAGES = [{"role": "user", "content": QUESTION}]


def client(root):
    return OpenAI(base_url=f"{root}/v1", api_key=KEY, max_retries=0)


def plain(root):
    return client(root).chat.completions.create(model=MODEL, messages=MESSAGES).choices[0].message.content


def stream(root):
    chunks = client(root).chat.completions.create(model=MODEL, messages=MESSAGES, stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def tools(root):
    """As the documentation has it: the parsed message goes back as it came."""
    to = client(root)
    offered = [pydantic_function_tool(GetWeather)]
    first = to.chat.completions.parse(model=MODEL, messages=MESSAGES, tools=offered).choices[0].message
    answers = [{"role": "tool", "tool_call_id": call.id, "content": WEATHER} for call in first.tool_calls]
    return to.chat.completions.parse(model=MODEL, messages=[*MESSAGES, first, *answers], tools=offered).choices[0].message.content


def structured(root):
    made = client(root).chat.completions.parse(model=MODEL, messages=MESSAGES, response_format=Weather)
    return made.choices[0].message.parsed


def structured_stream(root):
    with client(root).chat.completions.stream(model=MODEL, messages=MESSAGES, response_format=Weather) as events:
        for _ in events:
            pass
        return events.get_final_completion().choices[0].message.parsed


def models(root):
    return client(root).models.list().data


run(plain=plain, stream=stream, tools=tools, structured=structured, **{"structured-stream": structured_stream}, models=models)
