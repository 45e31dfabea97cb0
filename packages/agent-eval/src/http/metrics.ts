/** Renders what Prometheus reads; handed in, since counting is somebody else's job. */
export interface MetricsSource {
  scrape(): Promise<{ text: string; contentType: string }>;
}

export async function metricsResponse(source: MetricsSource, requestId: string): Promise<Response> {
  const { text, contentType } = await source.scrape();
  return new Response(text, {
    headers: { 'content-type': contentType, 'x-request-id': requestId },
  });
}
