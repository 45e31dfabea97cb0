/** One answer of the fake endpoint; `model_server.py` says what each key does. */
export interface Step {
    match?: {
        bodyContains?: string;
        path?: string;
        model?: string;
        method?: string;
    };
    times?: number | 'forever';
    status?: number;
    headers?: [name: string, value: string | null][];
    reply?: {
        verdict?: unknown;
        content?: unknown;
        message?: Record<string, unknown>;
        json?: unknown;
        raw?: string;
        base64?: string;
        encoding?: 'gzip' | 'br' | 'zstd' | 'deflate';
        encodingHeader?: string | null;
        keep?: number;
    };
    usage?: Record<string, unknown> | null | 'absent';
    finishReason?: string;
    mode?: 'fixed' | 'hash';
    delayMs?: number;
    headersThenDelayMs?: number;
    chunks?: {
        count?: number;
        delayMs?: number;
    };
    drop?: 'before-headers' | 'after-headers' | 'mid-body' | 'rst';
}
export interface RecordedRequest {
    method: string;
    path: string;
    headers: [name: string, value: string][];
    body: unknown;
    /** Seconds since the fake started. */
    time: number;
    outcome: 'pending' | 'answered' | 'dropped' | 'client-gone';
}
export interface Recorded {
    calls: number;
    connections: number;
    open: number;
    requests: RecordedRequest[];
}
export interface ModelServer {
    /** Base URL, with its `/v1`. */
    url: string;
    origin: string;
    script(steps: Step[], fallback?: Step): Promise<void>;
    stats(): Promise<Recorded>;
    requests(): Promise<RecordedRequest[]>;
    reset(): Promise<void>;
    close(): Promise<void>;
}
/** Starts the fake endpoint as a process; it ends with `close`, or when this process does. */
export declare function startModelServer(): Promise<ModelServer>;
