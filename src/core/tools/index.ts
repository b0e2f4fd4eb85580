export {
  type AnthropicImage,
  type AnthropicTool,
  type AnthropicToolResult,
  toAnthropicResult,
  toAnthropicTools,
} from "./adapters/anthropic.js";
export {
  type GoogleFunctionCall,
  type GoogleTool,
  type GoogleToolResult,
  toGoogleResult,
  toGoogleTools,
} from "./adapters/google.js";
export { type McpTool, type McpToolResult, toMcpResult, toMcpTools } from "./adapters/mcp.js";
export {
  type OpenAiAnswer,
  type OpenAiImageMessage,
  type OpenAiTool,
  type OpenAiToolMessage,
  toOpenAiMessages,
  toOpenAiTools,
} from "./adapters/openai-chat.js";
export {
  type OpenAiResponsesResult,
  type OpenAiResponsesTool,
  toOpenAiResponsesResult,
  toOpenAiResponsesTools,
} from "./adapters/openai-responses.js";
export {
  toVercelTools,
  type VercelModelOutput,
  type VercelTool,
  type VercelToolOutput,
} from "./adapters/vercel.js";
export type { BrowserTool, BrowserTools } from "./browser-tools.js";
export {
  BUILT_IN_TOOL_NAMES,
  type BuiltInToolName,
  createTools,
  TOOL_NAMES_ON_REQUEST,
  type ToolCallOptions,
  type ToolDescription,
  type ToolNameOf,
  ToolSet,
  type ToolSetOptions,
} from "./create-tools.js";
export { describeSandbox } from "./describe-sandbox.js";
export {
  canonicalSamples,
  type EvaluationOptions,
  type EvaluationSummary,
  evaluate,
  loadProblems,
  loadSamples,
  type Problem,
  passAtK,
  ResultsFile,
  type Sample,
  type SampleResult,
  type SampleVerdict,
  summarise,
  type TaskCounts,
} from "./evaluation/index.js";
export type { JsonSchema } from "./model-schema.js";
export { cutMiddle, markUntrusted } from "./replies/model-text.js";
export { formatResult } from "./replies/result-text.js";
export {
  type ImageType,
  type ReplyImage,
  TOOL_STATUSES,
  type ToolReply,
  type ToolStatus,
} from "./replies/tool-reply.js";
export { RunCodeTool } from "./run-code-tool.js";
export {
  codeWithReflection,
  describeCounts,
  describeFailures,
  type ExpectedError,
  type FunctionCall,
  type GenerateRequest,
  parseCases,
  type ReflectionOptions,
  type ReflectionResult,
  type ReflectionRound,
  TEST_OUTCOMES,
  type TestCase,
  type TestCounts,
  TestDrivenSandbox,
  type TestOptions,
  type TestOutcome,
  type TestReport,
  type TestResult,
  type TestRunner,
  type TestStatus,
} from "./test-driven/index.js";
export { defineTool, type Tool, type ToolAnnotations, type ToolCaller, type ToolContext } from "./tool.js";
export { type WorldAction, WorldInterface } from "./world-interface.js";
