"""A client made with the `mcp` package: arguments are the program and its arguments.

It holds a debate of offline agents to its end and prints what it saw, as one JSON object.
"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    told = []

    async def progress(done, total, message):
        told.append(message)

    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        begun = await session.call_tool("debate", {"problem": "Design a queue", "clarify": True})
        assert not begun.isError, begun
        debate = begun.structuredContent["id"]
        for _ in range(30):
            over = await session.call_tool("wait", {"id": debate}, progress_callback=progress)
            if over.structuredContent["status"] == "asking":
                await session.call_tool("answer", {"id": debate, "answers": {"q1": "500 a second"}, "skipRest": True})
            elif over.structuredContent["status"] != "running":
                break
        report = await session.read_resource(f"dialectic://debate/{debate}")
        print(json.dumps({
            "version": hello.protocolVersion,
            "tools": tools,
            "id": debate,
            "over": over.structuredContent,
            "text": over.content[0].text,
            "told": told,
            "report": report.contents[0].text,
        }))


asyncio.run(main())
