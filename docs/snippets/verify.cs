// Does a request come from the service? Reads the raw body from standard input; exit code 0 means yes, 1 no. .NET 10, or
// compiled with any .NET since Framework 4.7:
//   dotnet run verify.cs whsec_… 'webhook-id: …' 'webhook-timestamp: …' 'webhook-signature: …' < body.json
//   dotnet run verify.cs whsec_… 'Signature: …' < body.json
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Security.Cryptography;
using System.Text;

static class Verify
{
    const long ToleranceSeconds = 300;

    /// <summary>Compares in constant time, which does not show how much was right.</summary>
    static bool Same(string given, string expected)
    {
        byte[] a = Encoding.UTF8.GetBytes(given), b = Encoding.UTF8.GetBytes(expected);
        int difference = a.Length ^ b.Length;
        for (int at = 0; at < a.Length && at < b.Length; at++) difference |= a[at] ^ b[at];
        return difference == 0;
    }

    static byte[] Digest(byte[] key, byte[] text)
    {
        using (var hmac = new HMACSHA256(key)) return hmac.ComputeHash(text);
    }

    static string Header(Dictionary<string, string> headers, string name)
    {
        return headers.TryGetValue(name, out var value) ? value : "";
    }

    /// <summary>`webhook-signature`: one of its entries must be right, and the request fresh.</summary>
    public static bool Standard(byte[] body, Dictionary<string, string> headers, string secret)
    {
        string id = Header(headers, "webhook-id"), timestamp = Header(headers, "webhook-timestamp");
        if (id == "" || !long.TryParse(timestamp, NumberStyles.None, CultureInfo.InvariantCulture, out var seconds)) return false;
        if (Math.Abs(DateTimeOffset.UtcNow.ToUnixTimeSeconds() - seconds) > ToleranceSeconds) return false;
        byte[] key = Convert.FromBase64String(secret.StartsWith("whsec_") ? secret.Substring("whsec_".Length) : secret);
        byte[] signed = Encoding.UTF8.GetBytes(id + "." + timestamp + ".").Concat(body).ToArray();
        string expected = "v1," + Convert.ToBase64String(Digest(key, signed));
        return Header(headers, "webhook-signature").Split(' ').Count(entry => Same(entry, expected)) > 0;
    }

    /// <summary>`Signature`: over the body alone; the key is the whole secret as text.</summary>
    public static bool Signature(byte[] body, Dictionary<string, string> headers, string secret)
    {
        string expected = string.Concat(Digest(Encoding.UTF8.GetBytes(secret), body).Select(one => one.ToString("x2")));
        return Same(Header(headers, "signature"), expected);
    }

    static int Main(string[] args)
    {
        var headers = new Dictionary<string, string>();
        foreach (string[] pair in args.Skip(1).Select(line => line.Split(new[] { ':' }, 2)))
            headers[pair[0].ToLowerInvariant()] = pair[1].Trim();
        var body = new MemoryStream();
        Console.OpenStandardInput().CopyTo(body);
        // A receiver always uses the same one of the two: the sender must not choose the weaker one by leaving headers out.
        bool isStandard = headers.ContainsKey("webhook-signature");
        bool isGenuine = isStandard ? Standard(body.ToArray(), headers, args[0]) : Signature(body.ToArray(), headers, args[0]);
        return isGenuine ? 0 : 1;
    }
}
