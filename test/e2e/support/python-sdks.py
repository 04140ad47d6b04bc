"""Both official Python SDKs as a program uses them: python-sdks.py URL MODEL... prints a JSON object a line.

Each has its sdk, model and case, and what the SDK made of the answer.
"""

import json
import sys

import anthropic
import openai

QUESTION = [{"role": "user", "content": "What is the weather in Paris?"}]
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def tell(sdk, model, case, **seen):
    print(json.dumps({"sdk": sdk, "model": model, "case": case, **seen}), flush=True)


def ask_openai(client, model):
    ask = {"model": model, "messages": QUESTION, "max_tokens": 200}

    whole = client.chat.completions.create(**ask)
    choice = whole.choices[0]
    usage = whole.usage.prompt_tokens, whole.usage.completion_tokens
    tell("openai", model, "unary", text=choice.message.content, end=choice.finish_reason, usage=usage)

    text, usage, end = "", None, None
    with client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True}) as stream:
        for chunk in stream:
            if chunk.usage:
                usage = chunk.usage.prompt_tokens, chunk.usage.completion_tokens
            for choice in chunk.choices:
                text += choice.delta.content or ""
                end = choice.finish_reason or end
    tell("openai", model, "stream", text=text, end=end, usage=usage)

    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}]
    first = client.chat.completions.create(**ask, tools=tools)
    call = first.choices[0].message.tool_calls[0]
    turns = [
        *QUESTION,
        first.choices[0].message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": "18 degrees"},
    ]
    second = client.chat.completions.create(**{**ask, "messages": turns}, tools=tools)
    arguments = json.loads(call.function.arguments)
    text = second.choices[0].message.content
    tell("openai", model, "tools", name=call.function.name, arguments=arguments, text=text)


def ask_anthropic(client, model):
    ask = {"model": model, "messages": QUESTION, "max_tokens": 200}

    whole = client.messages.create(**ask)
    usage = whole.usage.input_tokens, whole.usage.output_tokens
    tell("anthropic", model, "unary", text=whole.content[0].text, end=whole.stop_reason, usage=usage)

    with client.messages.stream(**ask) as stream:
        text = "".join(stream.text_stream)
        last = stream.get_final_message()
    usage = last.usage.input_tokens, last.usage.output_tokens
    tell("anthropic", model, "stream", text=text, end=last.stop_reason, usage=usage)

    tools = [{"name": "get_weather", "input_schema": PARAMETERS}]
    first = client.messages.create(**ask, tools=tools)
    call = next(block for block in first.content if block.type == "tool_use")
    turns = [
        *QUESTION,
        {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in first.content]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "18 degrees"}]},
    ]
    second = client.messages.create(**{**ask, "messages": turns}, tools=tools)
    tell("anthropic", model, "tools", name=call.name, arguments=call.input, text=second.content[0].text)


url, *models = sys.argv[1:]
compat = openai.OpenAI(base_url=f"{url}/v1", api_key="test-key", max_retries=0, timeout=30)
messages = anthropic.Anthropic(base_url=url, api_key="test-key", max_retries=0, timeout=30)
for model in models:
    ask_openai(compat, model)
    ask_anthropic(messages, model)
