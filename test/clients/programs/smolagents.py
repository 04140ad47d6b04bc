from cases import KEY, MODEL, QUESTION, WEATHER, run
from smolagents import OpenAIServerModel, ToolCallingAgent, tool


@tool
def get_weather(city: str) -> str:
    """Tells the weather.

    Args:
        city: Where.
    """
    return WEATHER


def model(root):
    return OpenAIServerModel(model_id=MODEL, api_base=f"{root}/v1", api_key=KEY)


def plain(root):
    return model(root)([{"role": "user", "content": [{"type": "text", "text": QUESTION}]}]).content


def stream(root):
    deltas = model(root).generate_stream([{"role": "user", "content": [{"type": "text", "text": QUESTION}]}])
    return "".join(delta.content or "" for delta in deltas)


def tools(root):
    agent = ToolCallingAgent(tools=[get_weather], model=model(root), max_steps=2, verbosity_level=0)
    return str(agent.run(QUESTION))


run(plain=plain, stream=stream, tools=tools)
