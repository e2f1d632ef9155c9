from drawtap.analysis.rule import rule


@rule(
    title="Pipelines bound that are bound already",
    fix="Bind where the pipeline changes.",
    api="vk",
)
def vk_same_pipeline_again() -> str:
    """Some drivers set the whole state again. Reported where more than a tenth of the binds are such."""
    return r"""
WITH bound AS (
    SELECT b.seq, b.frame, b.duration, b."pipeline" AS pipeline,
           lag(b."pipeline") OVER (
               PARTITION BY b."commandBuffer", b."pipelineBindPoint", g.seq ORDER BY b.seq) AS before
    FROM "vkCmdBindPipeline" b
    ASOF LEFT JOIN "vkBeginCommandBuffer" g ON g."commandBuffer" = b."commandBuffer" AND g.seq <= b.seq
), again AS (SELECT * FROM bound WHERE pipeline = before)
SELECT min(a.seq) AS seq, a.frame, count(*) AS n, sum(a.duration)::BIGINT AS ns,
       printf('pipeline 0x%x', a.pipeline) AS what
FROM again a WHERE (SELECT count(*) FROM again) * 10 > (SELECT count(*) FROM bound) GROUP BY a.frame, a.pipeline
ORDER BY min(a.seq)
"""
