"""The provider itself: one tool, `greet`."""

try:
    from ogx_api import ListToolDefsResponse, ToolDef, ToolInvocationResult, ToolRuntime
except ImportError:
    from llama_stack_api import ListToolDefsResponse, ToolDef, ToolInvocationResult, ToolRuntime

from .config import PROVIDER_CLASSConfig


class PROVIDER_CLASSTools(ToolRuntime):
    def __init__(self, config: PROVIDER_CLASSConfig):
        self.config = config

    async def initialize(self):
        pass

    async def shutdown(self):
        pass

    async def register_toolgroup(self, toolgroup):
        pass

    async def unregister_toolgroup(self, toolgroup_id):
        pass

    async def list_runtime_tools(self, tool_group_id=None, mcp_endpoint=None, authorization=None):
        name = {"type": "string", "description": "Whom to greet"}
        schema = {"type": "object", "properties": {"name": name}, "required": ["name"]}
        tool = ToolDef(name="greet", description="Greets somebody", input_schema=schema)
        return ListToolDefsResponse(data=[tool])

    async def invoke_tool(self, tool_name, kwargs, authorization=None):
        return ToolInvocationResult(content=f"{self.config.greeting}, {kwargs['name']}!")
