"""The work of the guest `hello` as a server of the Model Context Protocol over standard streams."""

from mcp.server import MCPServer

server = MCPServer("hello")


@server.tool()
def hello(name: str) -> str:
    """Greets somebody."""
    return f"Hello, {name}!"


if __name__ == "__main__":
    server.run()
