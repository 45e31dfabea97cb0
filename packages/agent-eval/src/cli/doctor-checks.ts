import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { type Environment, variable } from '../config/env.js';
import type { Resolved } from '../config/resolve.js';
import { type Route, route } from '../config/routing.js';
import { localPaths } from '../entries/local-paths.js';
import { VERSION_INFO } from '../entries/version-info.js';
import { CATALOGUE } from '../models/catalogue.js';
import type { ModelPaths } from '../models/paths.js';
import { listModels, resolveModel } from '../models/resolve-model.js';
import { findRuntime } from '../models/runtime.js';
import { cacheChecks } from './doctor-cache.js';
import type { DoctorCheck } from './doctor-check.js';
import { endpointCheck } from './doctor-endpoint.js';
import { ladderCheck, priceCheck } from './doctor-model.js';

export async function runChecks(
  env: Environment,
  resolved: Resolved,
  probe: boolean,
): Promise<DoctorCheck[]> {
  const chosen = chosenRoute(env, resolved);
  return [
    nodeCheck(),
    {
      name: 'engine',
      state: 'ok',
      found: `${VERSION_INFO.version}, wire ${VERSION_INFO.wireVersion}`,
    },
    clientCheck(env),
    ...(chosen.kind === 'none'
      ? [chosen.check]
      : await routeChecks(chosen.route, env, resolved, probe)),
    ...(await localChecks(env, resolved, chosen)),
    ...(await cacheChecks(resolved.settings)),
  ];
}

type Chosen = { kind: 'route'; route: Route } | { kind: 'none'; check: DoctorCheck };

function chosenRoute(env: Environment, { settings }: Resolved): Chosen {
  try {
    return { kind: 'route', route: route({ settings, env }) };
  } catch (error) {
    if (!(error instanceof AgentEvalError)) throw error;
    const check = {
      name: 'model',
      state: 'problem',
      found: 'not configured',
      mend: error.message,
    } as const;
    return { kind: 'none', check };
  }
}

function nodeCheck(): DoctorCheck {
  return {
    name: 'node',
    state: 'ok',
    found: `${process.versions.node}, ${process.platform} ${process.arch}`,
  };
}

/** The Python command says who it is in this variable before it hands over. */
function clientCheck(env: Environment): DoctorCheck {
  const client = variable(env, 'AGENT_EVAL_CLIENT');
  if (client === undefined)
    return { name: 'client', state: 'note', found: 'not started from Python' };
  const version = /^agent-eval-rpc\/(\S+)/.exec(client)?.[1];
  if (version === VERSION_INFO.version) return { name: 'client', state: 'ok', found: client };
  return {
    name: 'client',
    state: 'problem',
    found: `${client}, but the engine is ${VERSION_INFO.version}`,
    mend: `pip install agent-eval-rpc==${VERSION_INFO.version}`,
  };
}

async function routeChecks(
  chosen: Route,
  env: Environment,
  resolved: Resolved,
  probe: boolean,
): Promise<DoctorCheck[]> {
  if (chosen.kind === 'local')
    return [{ name: 'model', state: 'ok', found: `local/${chosen.model}` }];
  const key: DoctorCheck =
    chosen.keySource === null
      ? { name: 'key', state: 'note', found: 'none set; fine for a local server' }
      : { name: 'key', state: 'ok', found: `from ${chosen.keySource}` };
  return [
    { name: 'model', state: 'ok', found: chosen.model },
    key,
    await endpointCheck(chosen, env),
    await ladderCheck(env, resolved, probe),
    await priceCheck(chosen, resolved),
  ];
}

/** Missing parts of a local model are a problem only where one was chosen. */
async function localChecks(
  env: Environment,
  { settings }: Resolved,
  chosen: Chosen,
): Promise<DoctorCheck[]> {
  const paths = localPaths(settings.home, env);
  const wanted =
    chosen.kind === 'route' && chosen.route.kind === 'local' ? chosen.route.model : null;
  const state = wanted === null ? 'note' : 'problem';
  const runtime = findRuntime(paths);
  const mend = `agent-eval model fetch ${wanted ?? CATALOGUE[0]?.name}`;
  return [
    await localModelCheck(wanted, paths),
    runtime === null
      ? { name: 'local runtime', state, found: 'node-llama-cpp is not installed', mend }
      : { name: 'local runtime', state: 'ok', found: `node-llama-cpp (${runtime.source})` },
  ];
}

async function localModelCheck(wanted: string | null, paths: ModelPaths): Promise<DoctorCheck> {
  const name = 'local model';
  if (wanted === null) {
    const fetched = (await listModels(paths)).filter((model) => model.fetched);
    const names = fetched.map((model) => model.name).join(', ');
    return { name, state: 'note', found: names === '' ? 'none fetched' : `fetched: ${names}` };
  }
  try {
    return { name, state: 'ok', found: (await resolveModel(wanted, paths)).file };
  } catch (error) {
    if (!(error instanceof AgentEvalError)) throw error;
    return { name, state: 'problem', found: error.code, mend: error.message };
  }
}
