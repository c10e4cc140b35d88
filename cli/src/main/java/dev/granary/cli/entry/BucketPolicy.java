package dev.granary.cli.entry;

import dev.granary.s3.config.S3Location;

import java.util.Locale;

/** A policy in Amazon's form for the requests of a role, as docs/bucket.md has them. */
enum BucketPolicy {
    READER("""
        {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "ROOT/v2/*"},
        {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "BUCKET"},
        {"Effect": "Allow", "Action": "s3:PutObject", "Resource": "ROOT/use/*"}
        """),
    PUBLISHER("""
        {"Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject"],
          "Resource": ["ROOT/v2/*", "ROOT/granary.json"]},
        {"Effect": "Allow", "Action": "s3:DeleteObject", "Resource": "ROOT/v2/trial/*"},
        {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "BUCKET"},
        {"Effect": "Allow", "Action": "s3:PutObject", "Resource": "ROOT/use/*"}
        """),
    PUBLIC("""
        {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "ROOT/v2/*"},
        {"Effect": "Allow", "Principal": "*", "Action": "s3:ListBucket", "Resource": "BUCKET"}
        """),
    // a wildcard also stands for slashes; a head is only swapped, by If-Match
    WRITE_ONCE("""
        {"Effect": "Deny", "Principal": "*", "Action": "s3:PutObject",
          "Resource": ["ROOT/v2/*/e/*", "ROOT/v2/*/m/*", "ROOT/v2/*/p/*"],
          "Condition": {"Null": {"s3:if-none-match": "true"},
            "ArnNotLike": {"aws:PrincipalArn": "arn:aws:iam::ACCOUNT:role/MAINTAINER"}}},
        {"Effect": "Deny", "Principal": "*", "Action": "s3:PutObject", "Resource": "ROOT/v2/*/head",
          "Condition": {"Null": {"s3:if-match": "true", "s3:if-none-match": "true"}}},
        {"Effect": "Deny", "Principal": "*",
          "Action": ["s3:DeleteObject", "s3:DeleteObjectVersion"],
          "Resource": ["ROOT/v2/*/e/*", "ROOT/v2/*/m/*", "ROOT/v2/*/p/*", "ROOT/v2/*/head"],
          "Condition": {
            "ArnNotLike": {"aws:PrincipalArn": "arn:aws:iam::ACCOUNT:role/MAINTAINER"}}}
        """);

    private final String statements;

    BucketPolicy(String statements) {
        this.statements = statements.indent(4);
    }

    /** Returns the policy for a bucket and prefix, as JSON. */
    String json(S3Location location) {
        String arn = "arn:aws:s3:::" + location.bucket();
        String root = location.prefix().isEmpty() ? arn : arn + "/" + location.prefix();
        return "{\n  \"Version\": \"2012-10-17\",\n  \"Statement\": [\n"
                + statements.replace("\"ROOT", "\"" + root).replace("\"BUCKET\"", "\"" + arn + "\"")
                + "  ]\n}";
    }

    /** Returns the name as an option has it. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
