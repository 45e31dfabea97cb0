// Judges two drafts by one rubric from TypeScript.
import { AgentEvalError, createAgentEval } from '@tangle-network/agent-eval';

const drafts = {
  plain: 'We cut p95 from 900 ms to 310 ms by caching one lookup; groups over 500 still miss.',
  slop: 'Our revolutionary platform empowers teams to unlock synergies and supercharge growth.',
};

const engine = await createAgentEval();
try {
  for (const [name, content] of Object.entries(drafts)) {
    const verdict = await engine.judge({ content, rubricName: 'anti-slop' });
    console.log(`${name}: ${verdict.composite.toFixed(2)} (${verdict.model})`);
  }
} catch (error) {
  if (!(error instanceof AgentEvalError)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
} finally {
  await engine.close();
}
