import type { YesNoModel } from '../providers/local/types.js';

export interface LocalModels {
  get(name: string): Promise<YesNoModel>;
  close(): Promise<void>;
}

export function localModels(_home: string | null): LocalModels {
  return {
    get: () => Promise.reject(new Error('to come')),
    close: async () => {},
  };
}
