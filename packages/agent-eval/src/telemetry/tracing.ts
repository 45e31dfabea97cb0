import { type Attributes, context, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { systemClock } from '../core/clock.js';
import type { JudgementFacts, Observer, ReplyFacts } from '../core/observer.js';
import { codeOf } from './code-of.js';

const CLOSE_MS = 2_000;

export interface TracingOptions {
  version: string;
  /** Whether the rationale may leave the engine; it can quote what was judged. */
  content: boolean;
}

export interface Tracing {
  observer: Observer;
  /** Sends what is left. */
  close(): Promise<void>;
}

/** Sends spans where the OTEL_EXPORTER_OTLP_* variables say. Loaded only when that is wanted. */
export function startTracing({ version, content }: TracingOptions): Tracing {
  const resource = resourceFromAttributes({
    'service.name': 'agent-eval',
    'service.version': version,
  });
  const provider = new BasicTracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  // Where a program has its own already, that one stays.
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const tracer = provider.getTracer('agent-eval', version);
  const within = async <T>(
    name: string,
    attributes: Attributes,
    work: (span: Span) => Promise<T>,
  ) => {
    const span = tracer.startSpan(name, { attributes });
    try {
      return await context.with(trace.setSpan(context.active(), span), () => work(span));
    } catch (error) {
      span.setAttribute('error.type', codeOf(error));
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  };
  const observer: Observer = {
    judgement: (rubric, work) =>
      within('judge', { 'agent_eval.rubric': rubric }, (span) =>
        evaluated(span, rubric, content, work),
      ),
    reply: (model, work) =>
      within(
        `chat ${model}`,
        { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': model },
        async (span) => {
          const reply = await work();
          span.setAttributes(replyAttributes(reply));
          return reply;
        },
      ),
  };
  const sent = () => provider.shutdown().catch(() => {});
  return {
    observer,
    // A collector that is gone must not hold up the end of a command.
    close: () => Promise.race([sent(), systemClock.sleep(CLOSE_MS)]),
  };
}

/** One `gen_ai.evaluation.result` event for each judgement, scored or not. */
async function evaluated<T extends JudgementFacts>(
  span: Span,
  rubric: string,
  content: boolean,
  work: () => Promise<T>,
): Promise<T> {
  const name = { 'gen_ai.evaluation.name': rubric };
  const event = 'gen_ai.evaluation.result';
  try {
    const result = await work();
    span.setAttribute('agent_eval.cached', result.cached);
    span.addEvent(event, {
      ...name,
      'gen_ai.evaluation.score.value': result.composite,
      'gen_ai.evaluation.score.label': 'scored',
      ...(content && { 'gen_ai.evaluation.explanation': result.rationale }),
    });
    return result;
  } catch (error) {
    span.addEvent(event, { ...name, 'error.type': codeOf(error) });
    throw error;
  }
}

function replyAttributes({ usage, costUsd, attempts }: ReplyFacts): Attributes {
  return {
    'agent_eval.attempts': attempts,
    ...(usage !== null && {
      'gen_ai.usage.input_tokens': usage.inputTokens,
      'gen_ai.usage.output_tokens': usage.outputTokens,
    }),
    ...(costUsd !== null && { 'agent_eval.cost_usd': costUsd }),
  };
}
